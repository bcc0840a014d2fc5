#!/usr/bin/env python3
"""Checks the kernel cost files against the traced path lengths.

Usage: path_lengths_test.py PROJECT_DIR SHARED_DIR
Reads every file of SHARED_DIR/data/path-lengths. Without that directory
everything is skipped (exit code 77).
"""
import collections
import csv
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROJECT = pathlib.Path(sys.argv[1])
DATA = pathlib.Path(sys.argv[2]) / "data" / "path-lengths"
KERNELS = PROJECT / "sim-configs" / "kernels"
METRICS = ("instructions", "atomics", "barriers", "privileged")
TRACED = {"x61": ("linux-6.1-x86_64", "x86_64.csv", "6.1.192"), "x612": ("linux-6.12-x86_64", "x86_64.csv", "6.12.95"),
          "a61": ("linux-6.1-arm64", "arm64.csv", "6.1.192"), "a612": ("linux-6.12-arm64", "arm64.csv", "6.12.95")}
# Phases whose length varies from instance to instance, so that a sum of medians need not be the median of sums.
VARIABLE = ("mprotect", "sleep1ms", "sleep20ms", "lazy-munmap", "same-cpu", "in:kthread")
# Tree windows that show one instance of such a phase.
VARIABLE_WINDOW = ("in:kthread", "sys_mprotect", "09 cpu", "04 cpu")
# Names that model code relies on, by architecture.
REQUIRED = {
    "both": """do_idle_head tick_nohz_idle_enter do_idle_loop_head cpuidle_idle_call_head tick_nohz_idle_stop_tick
        tick_nohz_idle_stop_tick_again tick_nohz_idle_retain_tick menu_select menu_select_timer_query menu_reflect
        default_idle_call_head ct_cpuidle_enter ct_cpuidle_exit do_idle_loop_tail do_idle_loop_tail_resched
        tick_nohz_idle_exit tick_nohz_idle_exit_after_irq tick_nohz_restart clear_polling
        flush_smp_call_function_queue_empty flush_smp_call_function_queue_head flush_queue_head
        flush_queue_sync_entry flush_queue_async_entry flush_queue_ttwu_entry flush_queue_tail csd_unlock
        flush_smp_call_function_queue_tail schedule_idle_head update_rq_clock pick_next_task_idle_full
        schedule_idle_full_tail schedule_idle_sm_idle schedule_idle_tail newidle_balance_early_exit
        newidle_balance_per_domain newidle_balance_per_cpu cpu_idle_poll_enter cpu_idle_poll_loop cpu_idle_poll_exit
        poll_idle_head poll_idle_loop poll_idle_clock_check poll_idle_tail irq_entry irq_entry_from_user
        irq_entry_from_kernel sysvec_call_function_single_body irq_exit irq_exit_stay_idle reschedule_ipi
        timer_interrupt_tick smp_call_function_single_head llist_add send_call_function_single_ipi_polling
        send_call_function_single_ipi_ipi smp_call_function_single_tail csd_lock_wait_loop
        smp_call_function_many_cond_head smp_call_function_many_cond_per_cpu smp_call_function_many_cond_tail
        try_to_wake_up_head select_task_rq_pinned ttwu_queue_wakelist sched_ttwu_pending_head ttwu_do_activate
        sched_ttwu_pending_tail ttwu_tail resched_curr schedule_head dequeue_task pick_next_task_fair
        pick_idle_put_prev psi_task_switch_to_idle context_switch_to_idle context_switch_from_idle
        ipistorm_loop ipistorm_function getppid
        sys_write_entry pipe_write_to_wakeup pipe_write_wakeup_unwind pipe_write_no_waiter sys_write_exit
        sys_read_entry pipe_read_to_schedule pipe_read_after_wake pipe_read_data_ready sys_read_exit
        exit_to_user_after_switch select_task_rq_fair select_task_rq_fair_probe ttwu_queue_local
        ttwu_do_activate_others dequeue_task_others pick_next_task_fair_task context_switch_task
        context_switch_preempted switch_mm_irqs_off_same_lazy switch_mm_irqs_off_other switch_task
        finish_task_switch_task schedule_tail_task sched_pipe_loop""",
    "x86_64": "cpuidle_enter_state_head cpuidle_enter_state_tail arch_cpu_idle_hlt arch_cpu_idle_mwait_head "
              "arch_cpu_idle_mwait mwait_idle_tail do_idle_loop_head_poll intel_idle_head intel_idle_tail",
    "arm64": "arch_cpu_idle_wfi arch_cpu_idle_wfi_tail gic_ack generic_irq_layer generic_irq_layer_tail ipi_handler",
}


def counts(node):
    return tuple(node.get(m, 0) for m in METRICS)


def total(vectors):
    return tuple(sum(column) for column in zip((0, 0, 0, 0), *vectors))


def read_csv(name):
    with (DATA / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def row_counts(row):
    return tuple(int(row[c]) for c in ("median_instructions",) + METRICS[1:])


def kernel_file(name):
    return json.loads((KERNELS / (name + ".json")).read_text())


class DataFiles(unittest.TestCase):
    """The data is what the importer takes it for, odd and partial rows included."""

    def test_every_row(self):
        for name, lines in (("x86_64.csv", 29180), ("arm64.csv", 16527)):
            rows = read_csv(name)
            self.assertEqual(len(rows), lines)
            for row in rows:
                self.assertTrue(all(c >= 0 for c in row_counts(row)), row)
                if row["segment"].startswith("inclusive/"):  # partial rows: a sum of medians has no spread
                    self.assertEqual((row["min"], row["max"], row["n"]), ("", "", ""), row)
                else:
                    self.assertLessEqual(int(row["min"]), int(row["median_instructions"]), row)
                    self.assertLessEqual(int(row["median_instructions"]), int(row["max"]), row)
                    self.assertGreater(int(row["n"]), 0, row)

    def test_cuts_and_functions_sum_to_the_phase(self):
        exact = 0
        for name in ("x86_64.csv", "arm64.csv"):
            totals, cuts, functions = {}, collections.defaultdict(list), collections.defaultdict(list)
            for row in read_csv(name):
                phase, cut, _ = row["segment"].partition("#")
                key = (row["kernel"], row["idle_mode"], phase)
                if phase.startswith("inclusive/"):
                    continue
                if cut and row["function"] == "TOTAL":
                    cuts[key].append(row_counts(row))
                elif not cut and row["function"] == "TOTAL":
                    totals[key] = row_counts(row)
                elif not cut:
                    functions[key].append(row_counts(row))
            for key, whole in totals.items():
                if any(word in key[2] for word in VARIABLE):
                    continue
                self.assertEqual(total(cuts[key])[0], whole[0], key)
                if functions[key]:  # some variant runs have TOTAL and cut rows only
                    self.assertEqual(total(functions[key])[0], whole[0], key)
                    exact += 1
        self.assertGreater(exact, 250)

    def test_trees(self):
        traced = {int(r["median_instructions"]) for n in ("x86_64.csv", "arm64.csv") for r in read_csv(n)
                  if r["function"] == "TOTAL" and "#" not in r["segment"]}
        files = sorted(DATA.glob("tree-*.txt"))
        self.assertEqual(len(files), 11)
        for path in files:
            windows = []
            for line in path.read_text().splitlines():
                header = re.match(r"== window (.*): (\d+) instructions \(n=\d+, min \d+, max \d+\)$", line)
                body = re.match(r"\s*(\d+)\s+\d+\s+\d+\s+\d+\s+\S+$", line)
                if header:
                    windows.append([header[1], int(header[2]), 0])
                elif body:
                    windows[-1][2] += int(body[1])
                else:
                    self.assertIn(line.split(), ([], ["self", "atomics", "barriers", "privileged", "function"]))
            self.assertGreater(len(windows), 5)
            for window, median, shown in windows:
                self.assertIn(median, traced, (path.name, window))
                if not any(word in window for word in VARIABLE_WINDOW):
                    self.assertEqual(shown, median, (path.name, window))


class CostFiles(unittest.TestCase):
    """The pieces of a phase add up to the phase, on every axis."""

    def setUp(self):
        mapping = json.loads((PROJECT / "scripts" / "path_segments.json").read_text())
        self.phases, self.aliases = mapping["phases"], mapping["aliases"]
        self.totals = {}
        for name in ("x86_64.csv", "arm64.csv"):
            for row in read_csv(name):
                if row["function"] == "TOTAL" and "#" not in row["segment"]:
                    key = (name, row["kernel"].split("-")[0], row["idle_mode"], row["segment"])
                    self.totals[key] = row_counts(row)

    def phase_list(self, model):
        for phase in self.phases:
            names = phase.get(model, phase.get(model[0]))
            if names:
                mode, segment = self.aliases[model[0]][phase["p"]]
                yield phase["p"], mode, segment, phase["x"] if names == "x" else names

    def test_phases_sum_exactly(self):
        checked = collections.Counter()
        for model, (file, data, kernel) in TRACED.items():
            segments = kernel_file(file)["segments"]
            for alias, mode, segment, names in self.phase_list(model):
                found = total(counts(segments[n]) for n in names)
                self.assertEqual(found, self.totals[data, kernel, mode, segment], (file, alias))
                checked[model] += 1
        self.assertEqual(checked, {"x61": 31, "x612": 31, "a61": 23, "a612": 23})

    def test_written_totals(self):
        # path-lengths.md, tables of section 6: a second source beside the CSV.
        expected = {
            "x61": {"write": 1576, "block": 2094, "idle": 568, "idlem": 587, "idlep": 514, "idlec": 1599, "irq": 1463,
                    "exit": 993, "exitm": 2198, "exitp": 2189, "exitc": 1125, "resume": 1173, "callirq": 657,
                    "round": 514, "roundm": 260, "spurp": 1104, "spur": 1186, "sameblock": 2490,
                    "samepreempt": 3659, "samewrite": 1211, "sameread": 1070, "sameresume": 1244},
            "x612": {"write": 1530, "block": 2322, "idle": 579, "idlem": 595, "idlep": 523, "idlec": 1138, "irq": 1572,
                     "exit": 1155, "exitm": 2467, "exitp": 2461, "exitc": 1289, "resume": 1188, "callirq": 691,
                     "round": 702, "roundm": 250, "spurp": 946, "spur": 1024, "sameblock": 2966,
                    "samepreempt": 3823, "samewrite": 1136, "sameread": 1034, "sameresume": 1264},
            "a61": {"write": 2106, "block": 2769, "idle": 486, "irq": 1921, "exit": 1330, "resume": 1270, "callirq": 1016,
                    "round": 634, "sameblock": 3145,
                    "samepreempt": 4553, "samewrite": 1492, "sameread": 1344, "sameresume": 1432},
            "a612": {"write": 1957, "block": 2693, "idle": 427, "irq": 1915, "exit": 1288, "resume": 1167,
                     "callirq": 1030, "round": 734, "sameblock": 3273,
                    "samepreempt": 4274, "samewrite": 1339, "sameread": 1274, "sameresume": 1290},
        }
        for model, phases in expected.items():
            segments = kernel_file(TRACED[model][0])["segments"]
            lists = {alias: names for alias, _, _, names in self.phase_list(model)}
            for alias, value in phases.items():
                self.assertEqual(sum(segments[n]["instructions"] for n in lists[alias]), value, (model, alias))

    def with_axes(self, node, apic, *path):
        delta = node if path else {}
        for key in path:
            delta = delta.get(key, {})
        return total((counts(node), counts(node.get("apic", {}).get("xapic", {})) if apic else (0, 0, 0, 0),
                      counts(delta)))

    def test_axes_sum_exactly(self):
        # The '+' runs used the xAPIC, so its difference is part of each.
        axes = {"x61": (("+xapic", ()), ("+mitig-amd", ("mitigations", "amd")),
                        ("+mitig-intel-pti", ("mitigations", "intel_pti")), ("+cgroup2", ("cgroup2",)),
                        ("+preempt-full", ("preempt", "full"))),
                "x612": (("+mitig-amd", ("mitigations", "amd")), ("+cgroup2", ("cgroup2",))),
                "a61": (("+mitig-off", ("mitigations", "off")), ("+cgroup2", ("cgroup2",))),
                "a612": (("+cgroup2", ("cgroup2",)),)}
        checked = 0
        for model, (file, data, kernel) in TRACED.items():
            segments = kernel_file(file)["segments"]
            for alias, mode, segment, names in self.phase_list(model):
                if alias not in ("write", "block", "idle", "irq", "exit", "resume"):
                    continue
                for suffix, path in axes[model]:
                    found = total(self.with_axes(segments[n], model[0] == "x", *path) for n in names)
                    self.assertEqual(found, self.totals[data, kernel, mode + suffix, segment], (file, alias, suffix))
                    checked += 1
        self.assertEqual(checked, 6 * 10)

    def test_tasks_on_one_cpu_two_cgroups_deep(self):
        for model, (file, data, kernel) in TRACED.items():
            segments = kernel_file(file)["segments"]
            for alias, mode, segment, names in self.phase_list(model):
                if alias in ("sameblock", "samepreempt"):
                    found = total(self.with_axes(segments[n], model[0] == "x", "cgroup2") for n in names)
                    traced = self.totals[data, kernel, mode + "+cgroup2", segment]
                    # The xAPIC's few instructions are in the trace, and in no segment of these phases.
                    self.assertAlmostEqual(found[0], traced[0], delta=20, msg=(file, alias))

    def test_mitigations_of_shared_phases_are_near(self):
        # Segments that several phases share have one delta; the other phases may differ a little.
        for model, suffix, key in (("x61", "+mitig-amd", "amd"), ("x612", "+mitig-amd", "amd")):
            file, data, kernel = TRACED[model]
            segments = kernel_file(file)["segments"]
            for alias, mode, segment, names in self.phase_list(model):
                traced = self.totals.get((data, kernel, mode + suffix, segment))
                if traced:
                    found = total(self.with_axes(segments[n], True, "mitigations", key) for n in names)
                    self.assertAlmostEqual(found[0], traced[0], delta=0.05 * traced[0], msg=(file, alias))


class Documents(unittest.TestCase):
    """What the simulator and its reader expect of each file."""

    def resolved(self, name):
        document = kernel_file(name)
        segments = dict(self.resolved(document["extends"])["segments"]) if "extends" in document else {}
        segments.update(document["segments"])
        return document | {"segments": segments}

    def test_origins_and_ranges(self):
        names = {p.stem for p in KERNELS.glob("*.json")}
        self.assertEqual(len(names), 10)
        for name in names:
            for segment, node in kernel_file(name)["segments"].items():
                where = (name, segment)
                self.assertIn(node["origin"], ("measured", "derived", "assumed"), where)
                self.assertTrue(node["source"], where)
                self.assertTrue(all(isinstance(c, int) and c >= 0 for c in counts(node)), where)
                if node["origin"] == "assumed":
                    low, high = node["range"]
                    self.assertTrue(low <= node["instructions"] <= high, where)
                for axis in ("mitigations", "preempt", "apic"):
                    for delta in node.get(axis, {}).values():
                        after = total((counts(node), counts(delta)))
                        self.assertGreaterEqual(min(after), 0, where)

    def test_required_names(self):
        for name in {p.stem for p in KERNELS.glob("*.json")}:
            arch = "arm64" if name.endswith("arm64") else "x86_64"
            segments = self.resolved(name)["segments"]
            for segment in (REQUIRED["both"] + " " + REQUIRED[arch]).split():
                self.assertIn(segment, segments, name)

    def test_known_values(self):
        # Hand-read from the cut tables of path-lengths.md (6.12 unless noted).
        x612 = kernel_file("linux-6.12-x86_64")["segments"]
        a612 = kernel_file("linux-6.12-arm64")["segments"]
        self.assertEqual(counts(x612["tick_nohz_idle_enter"]), (110, 0, 0, 4))
        self.assertEqual(counts(x612["tick_nohz_idle_exit"]), (112, 0, 0, 3))
        self.assertEqual(counts(x612["tick_nohz_idle_exit_after_irq"]), (32, 0, 0, 2))
        self.assertEqual(counts(x612["send_call_function_single_ipi_polling"]), (23, 1, 0, 0))
        self.assertEqual(counts(a612["gic_ack"]), (19, 0, 2, 1))
        # schedule_idle with nothing runnable: 262 [2/0/3] in 6.12; 447 [2/0/3] with the full pick of 6.1.
        sm_idle = ("schedule_idle_head", "update_rq_clock", "schedule_idle_sm_idle")
        self.assertEqual(total(counts(x612[n]) for n in sm_idle), (1 + 262, 2, 0, 3))
        x61 = kernel_file("linux-6.1-x86_64")["segments"]
        full = ("schedule_idle_head", "update_rq_clock", "newidle_balance_early_exit", "pick_next_task_idle_full",
                "schedule_idle_full_tail")
        self.assertEqual(total(counts(x61[n]) for n in full), (1 + 447, 2, 0, 3))

    def test_derived_files_take_the_pick_of_6_1(self):
        for name, source in (("linux-6.10-x86_64", "linux-6.1-x86_64"), ("linux-6.7-x86_64", "linux-6.1-x86_64"),
                             ("linux-6.10-arm64", "linux-6.1-arm64")):
            document, older = kernel_file(name), kernel_file(source)["segments"]
            self.assertEqual(document["features"]["schedule_idle"], "full")
            self.assertEqual(len(document["segments"]), 4)
            for segment, node in document["segments"].items():
                self.assertEqual(counts(node), counts(older[segment]), segment)


class Importer(unittest.TestCase):
    """--check accepts the committed files and notices a changed number in the data."""

    def check(self, data):
        command = [sys.executable, PROJECT / "scripts" / "import_path_lengths.py", "--check", "--data", data]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_committed_files(self):
        result = self.check(DATA)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_changed_number_is_seen(self):
        with tempfile.TemporaryDirectory() as directory:
            for name in ("x86_64.csv", "arm64.csv"):
                shutil.copy(DATA / name, directory)
            path = pathlib.Path(directory) / "arm64.csv"
            path.chmod(0o644)
            text = path.read_text()
            row = "6.12.95-1~bpo12+1,arm64,wfi,pipe/cpu0/in:idle->resched->halt#5 tick_nohz_idle_enter,TOTAL,93,"
            self.assertEqual(text.count(row), 1)
            path.write_text(text.replace(row, row.replace(",93,", ",94,")))
            result = self.check(directory)
        self.assertEqual(result.returncode, 1)
        self.assertIn("linux-6.12-arm64.json: differs", result.stderr)
        self.assertNotIn("linux-6.12-x86_64.json", result.stderr)


if __name__ == "__main__":
    if not DATA.is_dir():
        print(f"skipped: no path lengths in {DATA}")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
