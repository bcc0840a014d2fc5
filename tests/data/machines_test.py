#!/usr/bin/env python3
"""Checks every machine file: keys, types, units, origins, ranges, and that the numbers fit together.

Usage: machines_test.py MACHINES_DIR SHARED_DIR
The comparison with the core-to-core matrices is skipped where SHARED_DIR does not exist.
"""
import copy
import csv
import json
import os
import sys
import unittest

MACHINES_DIR, SHARED_DIR = sys.argv[1], sys.argv[2]

LEGS = {"request_ns", "snoop_ns", "data_ns"}
# Largest value that can be meant, by the unit at the end of the key.
LIMITS = {"_ns": 1_000_000, "_us": 10_000, "_cycles": 10_000, "_mhz": 10_000, "_percent": 100,
          "_ipc": 10, "_entries": 1_000, "smt_share_running": 100, "smt_share_pause": 100,
          "/ecv": 1, "/wfxt": 1, "/eoi_mode": 1, "/sgi_targets": 16}
ORIGINS = {"measured", "derived", "documented", "assumed", "fitted"}
NEEDS_RANGE = {"assumed", "fitted"}
STATE_FLAGS = {"tlb_flushed", "ibrs"}
ENTER = {"x86_64": {"mwait", "hlt", "io"}, "arm64": {"wfi"}}

# Machine -> (matrix, {relation of the model: relations of c2c-summary.csv}).
MATRICES = {
    "altra-2s-64c": ("altra-q80-30_monolithic.csv",
                     {"cluster": ["same_dsu"],
                      "socket": ["same_half_0", "same_half_1", "other_half_same_socket"]}),
    "epyc-genoa-2s-96c": ("epyc-9654_2s_smtoff.csv",
                          {"cluster": ["same_ccx"], "socket": ["same_socket_0", "same_socket_1"],
                           "remote": ["cross_socket"]}),
    "epyc-milan-2s-64c": ("epyc-7763_2s.csv",
                          {"sibling": ["smt"], "cluster": ["same_ccx"],
                           "socket": ["same_socket_0", "same_socket_1"],
                           "remote": ["cross_socket"]}),
    "graviton2-1s-64c": ("graviton2_c6gd-metal.csv", {"cluster": ["same_socket"]}),
    "graviton3-1s-64c": ("graviton3_c7g-16xlarge.csv", {"cluster": ["same_socket"]}),
    "icelake-sp-8360y-2s-36c": ("xeon-8360y_2s.csv",
                                {"sibling": ["smt"], "cluster": ["same_socket_0", "same_socket_1"],
                                 "remote": ["cross_socket"]}),
    "ivybridge-ex-4s-15c": ("xeon-e5-4650v2_4s-partial.csv",
                            {"sibling": ["smt"], "cluster": ["same_socket_0", "same_socket_1"],
                             "remote": ["cross_socket"]}),
    "sapphire-rapids-2s": ("xeon-w9-3475x_1s_spr.csv", {"cluster": ["same_socket"]}),
    "skylake-sp-2s-28c": ("xeon-8275cl_2s.csv",
                          {"sibling": ["smt"], "cluster": ["same_socket_0", "same_socket_1"],
                           "remote": ["cross_socket"]}),
    "xeon-4114-2s-10c": ("intel_xeon_silver_4114.csv",
                         {"sibling": ["smt"], "cluster": ["same_socket_0", "same_socket_1"],
                          "remote": ["cross_socket"]}),
    "xeon-e5-2420v2-2s": ("xeon-e5-2620v2_2s.csv",
                          {"sibling": ["smt"], "cluster": ["same_socket_0", "same_socket_1"],
                           "remote": ["cross_socket"]}),
    "xeon-e5-2667v4-2s": ("intel_xeon_e5_2698_v3.csv",
                          {"sibling": ["smt"], "cluster": ["same_socket_0", "same_socket_1"],
                           "remote": ["cross_socket"]}),
}


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Checker:
    """Collects every finding as "pointer: what is wrong"."""

    def __init__(self, machine, file_name):
        self.errors = []
        self.machine = machine
        self.check(file_name)

    def error(self, pointer, text):
        self.errors.append(f"{pointer}: {text}")

    def keys(self, pointer, value, required, optional=()):
        if not isinstance(value, dict):
            self.error(pointer, "must be an object")
            return False
        for key in sorted(set(required) - set(value)):
            self.error(pointer, f"missing key {key}")
        for key in sorted(set(value) - set(required) - set(optional)):
            self.error(pointer, f"unknown key {key}")
        return set(required) <= set(value)

    def text(self, pointer, value):
        if not isinstance(value, str) or len(value.strip()) < 10:
            self.error(pointer, "must be a text of at least 10 characters")

    def one_of(self, pointer, value, allowed):
        if value not in allowed:
            self.error(pointer, f"{value!r} is none of {sorted(allowed)}")

    def parameter(self, pointer, p):
        if not self.keys(pointer, p, {"value", "source", "origin"},
                         {"range", "note", "fitted_to"}):
            return
        value, origin = p["value"], p["origin"]
        if not is_number(value):
            self.error(pointer, "value must be a number")
            return
        limit = next((v for k, v in LIMITS.items() if pointer.endswith(k)), None)
        if limit is None:
            self.error(pointer, "the key names no known unit")
        elif not 0 <= value <= limit:
            self.error(pointer, f"value {value} is outside 0..{limit}")
        self.one_of(pointer + "/origin", origin, ORIGINS)
        self.text(pointer + "/source", p["source"])
        if ("fitted_to" in p) != (origin == "fitted"):
            self.error(pointer, "fitted_to stands with the origin fitted and only there")
        if "note" in p:
            self.text(pointer + "/note", p["note"])
        if origin in ("measured", "documented") and "memory, unverified" in p["source"]:
            self.error(pointer, "a number from memory is neither measured nor documented")
        if "range" not in p:
            if origin in NEEDS_RANGE:
                self.error(pointer, f"origin {origin} needs a range")
            return
        bounds = p["range"]
        if not isinstance(bounds, list) or len(bounds) != 2 or not all(map(is_number, bounds)):
            self.error(pointer + "/range", "must be [low, high]")
        elif not 0 <= bounds[0] <= value <= bounds[1]:
            self.error(pointer + "/range", f"does not hold the value {value}")
        elif origin in NEEDS_RANGE and bounds[0] == bounds[1]:
            self.error(pointer + "/range", f"origin {origin} needs a range wider than a point")

    def parameters(self, pointer, value, required, other=()):
        """An object of parameters; keys in `other` are the caller's business."""
        if isinstance(value, dict):
            for key in sorted(set(required) & set(value)):
                self.parameter(f"{pointer}/{key}", value[key])
        return self.keys(pointer, value, set(required) | set(other))

    def check(self, file_name):
        m = self.machine
        is_x86 = isinstance(m, dict) and m.get("arch") == "x86_64"
        required = {"schema_version", "name", "description", "arch", "vendor", "topology", "clock",
                    "core", "coherence", "interrupts", "timer", "idle"} | ({"msr"} if is_x86 else set())
        if not self.keys("", m, required):
            return
        if m["schema_version"] != 1:
            self.error("/schema_version", "must be 1")
        if f"{m['name']}.json" != file_name:
            self.error("/name", f"must be the name of the file, {file_name}")
        self.text("/description", m["description"])
        self.one_of("/arch", m["arch"], {"x86_64", "arm64"})
        self.one_of("/vendor", m["vendor"], {"amd", "intel"} if is_x86 else {"arm"})
        self.topology(m["topology"])
        self.parameters("/clock", m["clock"], {"core_mhz", "tsc_mhz"})
        self.parameters("/core", m["core"],
                        {"kernel_ipc", "atomic_cycles", "barrier_cycles", "pause_cycles",
                         "privileged_cycles", "store_buffer_entries", "mispredict_cycles",
                         "smt_share_running", "smt_share_pause"})
        self.coherence(m["coherence"])
        self.interrupts(m["interrupts"], is_x86)
        self.parameters("/timer", m["timer"],
                        {"program_cycles"} | (set() if is_x86 else {"ecv", "wfxt"}))
        if is_x86:
            self.parameters("/msr", m["msr"], {"spec_ctrl_write_cycles"})
        self.idle(m["idle"], m["arch"], is_x86)

    def topology(self, t):
        counts = {"sockets", "nodes_per_socket", "clusters_per_node", "cores_per_cluster",
                  "threads_per_core"}
        if not self.keys("/topology", t, counts | {"numbering", "source", "origin"}):
            return
        for key in sorted(counts):
            if not isinstance(t[key], int) or isinstance(t[key], bool) or t[key] < 1:
                self.error(f"/topology/{key}", "must be a whole number of at least 1")
        self.one_of("/topology/numbering", t["numbering"], {"block", "round_robin", "adjacent"})
        self.one_of("/topology/origin", t["origin"], ORIGINS)
        self.text("/topology/source", t["source"])

    def coherence(self, c):
        pointer = "/coherence"
        far = isinstance(c, dict) and c.get("atomics") in ("far", "far_unless_unique")
        plain = {"l1_hit_cycles", "sibling_transfer_ns", "directory_ns", "memory_ns",
                 "spread_percent"} | ({"far_atomic_ns"} if far else set())
        if not self.parameters(pointer, c, plain,
                               {"protocol", "cluster", "socket", "remote", "atomics"}):
            return
        self.one_of(pointer + "/protocol", c["protocol"], {"mesi", "mesif", "moesi"})
        self.one_of(pointer + "/atomics", c["atomics"], {"near", "far", "far_unless_unique", "ll_sc"})
        for relation in ("cluster", "socket", "remote"):
            self.parameters(f"{pointer}/{relation}", c[relation], LEGS)
        if self.errors:
            return
        for leg in sorted(LEGS):
            cluster, socket, remote = (c[r][leg]["value"] for r in ("cluster", "socket", "remote"))
            if not cluster <= socket < remote:
                self.error(f"{pointer}/remote/{leg}", "legs must not shrink with distance")
        if self.machine["topology"]["clusters_per_node"] == 1 and c["socket"] != c["cluster"]:
            self.error(pointer + "/socket", "with one cluster per node it must equal cluster")
        if (self.machine["topology"]["threads_per_core"] == 1) != (
                c["sibling_transfer_ns"]["value"] == 0):
            self.error(pointer + "/sibling_transfer_ns", "is 0 exactly where cores have one thread")

    def interrupts(self, i, is_x86):
        parameters = {"send_cycles", "delivery_socket_ns", "delivery_remote_ns",
                      "delivery_sibling_ns", "entry_cycles", "exit_cycles", "eoi_cycles",
                      "ack_cycles"}
        if not is_x86:
            parameters |= {"eoi_mode", "deactivate_cycles", "sgi_targets"}
        if not self.parameters("/interrupts", i, parameters, {"controller"}):
            return
        self.one_of("/interrupts/controller", i["controller"], {"x2apic"} if is_x86 else {"gicv3"})
        if not self.errors:
            if is_x86 != (i["ack_cycles"]["value"] == 0):
                self.error("/interrupts/ack_cycles", "is 0 exactly on x86")
            if i["delivery_socket_ns"]["value"] > i["delivery_remote_ns"]["value"]:
                self.error("/interrupts/delivery_remote_ns", "is less than delivery_socket_ns")

    def idle(self, idle, arch, is_x86):
        plain = ({"monitor_cycles", "hlt_exit_ns"} if is_x86 else
                 {"wfe_entry_ns", "wfe_exit_ns"})
        if not self.parameters("/idle", idle, plain, {"states"}):
            return
        if not isinstance(idle["states"], list) or not idle["states"]:
            self.error("/idle/states", "must be a list of at least one state")
            return
        times = {"exit_latency_us", "target_residency_us", "entry_ns", "exit_ns"}
        for n, state in enumerate(idle["states"]):
            pointer = f"/idle/states/{n}"
            if not self.parameters(pointer, state, times, {"name", "enter", "irq_enable", "flags"}):
                continue
            if not isinstance(state["name"], str) or not state["name"]:
                self.error(pointer + "/name", "must be a text")
            self.one_of(pointer + "/enter", state["enter"], ENTER[arch])
            if not isinstance(state["irq_enable"], bool):
                self.error(pointer + "/irq_enable", "must be true or false")
            if not isinstance(state["flags"], list) or not set(state["flags"]) <= STATE_FLAGS:
                self.error(pointer + "/flags", f"must be a list out of {sorted(STATE_FLAGS)}")
        for n, (a, b) in enumerate(zip(idle["states"], idle["states"][1:])):
            if not self.errors and any(a[k]["value"] > b[k]["value"] for k in times):
                self.error(f"/idle/states/{n + 1}", "is cheaper than the state before it")


def one_way_ns(machine, relation):
    """Half a round trip of the two-thread compare-exchange loop: snoop, data and the exchange.

    Across sockets the line has its home with one of the two threads; the mean of both directions.
    """
    c = machine["coherence"]
    leg = {r: {k: c[r][k]["value"] for k in LEGS} for r in ("cluster", "socket", "remote")}
    cas = machine["core"]["atomic_cycles"]["value"] * 1000 / machine["clock"]["core_mhz"]["value"]
    if relation == "sibling":
        return (c["sibling_transfer_ns"]["value"] + cas) / 2  # the two threads' attempts overlap
    if relation != "remote":
        return leg[relation]["snoop_ns"] + leg[relation]["data_ns"] + cas
    snoops = leg["socket"]["snoop_ns"] + leg["remote"]["snoop_ns"] + c["directory_ns"]["value"]
    return leg["remote"]["data_ns"] + snoops / 2 + cas


def read_machines():
    machines = {}
    for file_name in sorted(os.listdir(MACHINES_DIR)):
        with open(os.path.join(MACHINES_DIR, file_name), encoding="utf-8") as file:
            machines[file_name] = json.load(file)
    return machines


class MachineFiles(unittest.TestCase):
    def test_every_file_is_correct(self):
        machines = read_machines()
        self.assertGreaterEqual(len(machines), 14)
        for file_name, machine in machines.items():
            with self.subTest(file_name):
                self.assertEqual(Checker(machine, file_name).errors, [])

    def test_one_value_of_kernel_ipc_per_core_type(self):
        # The text names the core ("... of kernel code on Zen 3; ..."): equal text, equal number.
        seen = {}
        for file_name, machine in read_machines().items():
            ipc = machine["core"]["kernel_ipc"]
            with self.subTest(file_name):
                self.assertEqual(seen.setdefault(ipc["source"], ipc), ipc)

    def test_legs_give_the_medians_of_the_matrices(self):
        summary = os.path.join(SHARED_DIR, "data", "c2c-summary.csv")
        if not os.path.exists(summary):
            self.skipTest(f"{summary} is not there")
        medians = {}
        with open(summary, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                key = (os.path.basename(row["file"]), row["relation"])
                medians[key] = (float(row["median_ns"]), int(row["n_pairs"]))
        machines = read_machines()
        for name, (matrix, relations) in MATRICES.items():
            for relation, parts in relations.items():
                with self.subTest(machine=name, relation=relation):
                    rows = [medians[matrix, part] for part in parts]
                    published = sum(m * n for m, n in rows) / sum(n for _, n in rows)
                    model = one_way_ns(machines[name + ".json"], relation)
                    self.assertLess(abs(model - published) / published, 0.05,
                                    f"model {model:.1f} ns, matrix {published:.1f} ns")


class CheckerFindsMistakes(unittest.TestCase):
    def setUp(self):
        self.machine = copy.deepcopy(read_machines()["epyc-milan-2s-64c.json"])

    def expect(self, pointer):
        errors = Checker(self.machine, "epyc-milan-2s-64c.json").errors
        self.assertTrue(any(e.startswith(pointer + ":") for e in errors), errors)

    def test_unknown_key(self):
        self.machine["core"]["atomic_cycle"] = self.machine["core"]["atomic_cycles"]
        self.expect("/core")

    def test_missing_key(self):
        del self.machine["coherence"]["remote"]["data_ns"]
        self.expect("/coherence/remote")

    def test_value_outside_range(self):
        self.machine["core"]["kernel_ipc"]["value"] = 2.5
        self.expect("/core/kernel_ipc/range")

    def test_assumed_without_range(self):
        del self.machine["core"]["kernel_ipc"]["range"]
        self.expect("/core/kernel_ipc")

    def test_empty_source(self):
        self.machine["timer"]["program_cycles"]["source"] = " "
        self.expect("/timer/program_cycles/source")

    def test_unknown_origin(self):
        self.machine["timer"]["program_cycles"]["origin"] = "guessed"
        self.expect("/timer/program_cycles/origin")

    def test_text_for_a_number(self):
        self.machine["clock"]["core_mhz"]["value"] = "3500"
        self.expect("/clock/core_mhz")

    def test_true_for_a_number(self):
        self.machine["clock"]["core_mhz"]["value"] = True
        self.expect("/clock/core_mhz")

    def test_wrong_unit(self):
        self.machine["clock"]["core_mhz"]["value"] = 3_500_000
        self.expect("/clock/core_mhz")

    def test_legs_shrink_with_distance(self):
        self.machine["coherence"]["socket"]["snoop_ns"]["value"] = 1000
        self.machine["coherence"]["socket"]["snoop_ns"]["range"] = [1, 1000]
        self.expect("/coherence/remote/snoop_ns")

    def test_wrong_name(self):
        self.machine["name"] = "epyc"
        self.expect("/name")

    def test_states_out_of_order(self):
        self.machine["idle"]["states"].reverse()
        self.expect("/idle/states/1")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
