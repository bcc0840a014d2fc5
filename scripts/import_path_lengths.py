#!/usr/bin/env python3
"""Makes sim-configs/kernels/*.json from the traced path lengths.

Reads DATA/{x86_64,arm64}.csv, the mapping path_segments.json and the headers
kernel_files.json beside this script. Without --check the kernel files are
written; with --check nothing is written and the exit code is 1 if a committed
file differs from what the data gives.
"""

import argparse
import json
import math
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # the tests run this from the source tree
from path_lengths import METRICS, ZERO, Data, Missing, Model, add

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Phases in which an axis is split over segments; the first that has a segment decides its delta.
CUT_PHASES = ("write", "block", "idle", "irq", "exit", "resume", "membar", "membarirq", "futexwait", "futexresume",
              "futexwake")
MITIGATED_PHASES = ("write", "block", "idle", "irq", "exit", "resume", "call", "callirq", "round", "membar",
                    "membarirq", "futexwait", "futexresume", "futexwake")
# Phases of tasks that share a CPU: the one segment that takes what an axis adds beyond the others' share.
REST_PHASES = (("sameblock", "context_switch_task"), ("samepreempt", "context_switch_preempted"))
# Segments of phases without self rows in the mitigation runs take the delta of a similar one.
SIMILAR = {"futex_wait_entry": "sys_read_entry", "futex_wake_entry": "sys_write_entry",
           "futex_wake_exit": "sys_write_exit", "irq_entry_rcu_watching": "irq_entry",
           "irq_exit_rcu_watching": "irq_exit", "switch_task": "switch_to_idle",
           "finish_task_switch_task": "finish_task_switch_to_idle"}


def largest_remainder(shares, total):
    """Integers near `shares` whose sum is `total`."""
    result = [math.floor(s) for s in shares]
    order = sorted(range(len(shares)), key=lambda i: (result[i] - shares[i], i))
    for i in range(total - sum(result)):
        result[order[i % len(order)]] += 1
    return result


def split_by_function(model, names, variant, base):
    """Splits what a mitigation set adds to a phase over the phase's segments.

    The cuts of those runs are unreliable (path-lengths.md 5.2), the self
    counts of functions are not: what a function gains goes to the segments
    that contain it; new functions (thunks) go to all by instruction count.
    """
    segments = [model.evaluate(n) for n in names]
    contents = [s.by_function() for s in segments]
    before, after = base.by_function(), variant.by_function()
    result = []
    for metric in range(4):
        change = variant.total[metric] - base.total[metric]
        shares = [0.0] * len(names)
        pool = change
        for function in before:
            gain = after.get(function, ZERO)[metric] - before[function][metric]
            weights = [max(0, c.get(function, ZERO)[0]) for c in contents]
            if gain == 0 or sum(weights) == 0:
                continue
            pool -= gain
            shares = [s + gain * w / sum(weights) for s, w in zip(shares, weights)]
        sizes = [max(0, s.total[0]) for s in segments]
        shares = [s + pool * w / sum(sizes) for s, w in zip(shares, sizes)]
        result.append(largest_remainder(shares, change))
    return dict(zip(names, zip(*result)))


def split_by_cut(model, alias, names, variant_mode, base_mode):
    """Splits what an axis adds to each cut of a phase over the segments of that cut.

    Where several segments share a cut, the functions of the phase that
    changed decide (the variant runs have no self rows inside cuts).
    """
    phase = model.aliases[alias][1]
    before = model.data.get(model.kernel, base_mode, phase).by_function()
    after = model.data.get(model.kernel, variant_mode, phase).by_function()
    segments = [model.evaluate(n) for n in names]
    result = [ZERO] * len(names)
    for cut in model.data.cuts(model.kernel, base_mode, phase):
        change = add(model.data.get(model.kernel, variant_mode, phase, cut).total,
                     model.data.get(model.kernel, base_mode, phase, cut).total, -1)
        inside = [s.in_cut(phase, cut) for s in segments]
        weights = [sum(max(0, c[0]) * abs(after.get(f, ZERO)[0] / before[f][0] - 1)
                       for f, c in part.items() if f in before and before[f][0]) for part in inside]
        if sum(weights) == 0:
            weights = [max(0, sum(c[0] for c in part.values())) for part in inside]
        if any(change) and sum(weights):  # a cut without weight is made of another phase's segments
            split = [largest_remainder([change[m] * w / sum(weights) for w in weights], change[m]) for m in range(4)]
            result = [add(r, part) for r, part in zip(result, zip(*split))]
    return dict(zip(names, result))


def whole_phase_deltas(model, suffix):
    """Segments that are one whole phase: difference of the TOTAL rows."""
    deltas = {}
    for name, alias in (("getppid", "null"), ("timer_interrupt_tick", "tick")):
        mode, phase = model.aliases[alias]
        try:
            variant = model.data.get(model.kernel, mode + suffix, phase)
        except Missing:
            continue
        base = model.data.get(model.kernel, model.xapic_mode(mode, phase), phase)
        deltas[name] = add(variant.total, base.total, -1)
    return deltas


def mitigation_deltas(model, suffix):
    """Segment -> (delta, origin) for one mitigation set of the x86 runs."""
    deltas = {}
    for alias in MITIGATED_PHASES:
        mode, phase = model.aliases[alias]
        try:
            variant = model.data.get(model.kernel, mode + suffix, phase)
        except Missing:
            continue
        if not variant.parts:  # TOTAL row only
            continue
        base = model.data.get(model.kernel, model.xapic_mode(mode, phase), phase)
        names = model.phase_segments(alias)
        for name, delta in split_by_function(model, names, variant, base).items():
            deltas.setdefault(name, (delta, "derived"))
    deltas.update({n: (d, "measured") for n, d in whole_phase_deltas(model, suffix).items()})
    rate = sum(d[0] for d, _ in deltas.values()) / sum(model.evaluate(n).total[0] for n in deltas)
    for name in model.names():
        if name in SIMILAR and name not in deltas:
            deltas[name] = (deltas[SIMILAR[name]][0], "assumed")
        if name not in deltas:
            deltas[name] = ((round(model.evaluate(name).total[0] * rate), 0, 0, 0), "assumed")
    return deltas


def axis_deltas(model, modes_of):
    """Segment -> delta for an axis whose runs have reliable cuts."""
    deltas = {}
    for alias in CUT_PHASES:
        variant_mode, base_mode = modes_of(*model.aliases[alias])
        if variant_mode == base_mode or (model.kernel, variant_mode, model.aliases[alias][1], "") not in model.data.rows:
            continue
        names = model.phase_segments(alias)
        for name, delta in split_by_cut(model, alias, names, variant_mode, base_mode).items():
            deltas.setdefault(name, delta)
    for alias, rest in REST_PHASES:
        mode, phase = model.aliases[alias]
        keys = [(model.kernel, m, phase, "") for m in modes_of(mode, phase)]
        if keys[0] != keys[1] and keys[0] in model.data.rows:
            delta = add(*(model.data.rows[key]["TOTAL"] for key in keys), -1)
            for name in model.phase_segments(alias):
                delta = add(delta, deltas.get(name, ZERO), -1) if name != rest else delta
            deltas[rest] = delta
    return deltas


def put(segments, deltas, place, origin):
    """Writes deltas into segments; `place` is the key path of the axis value."""
    for name, delta in deltas.items():
        if name in segments and any(delta):
            node = segments[name]
            for key in place[:-1]:
                node = node.setdefault(key, {})
            node[place[-1]] = {m: c for m, c in zip(METRICS, delta) if c} | {"origin": origin}


def add_variants(model, segments):
    """Fills the axis differences of every segment."""
    older = model if model.version == "61" else model.counterpart
    from_older = "measured" if older is model else "derived"

    def suffixed(owner, suffix):
        return lambda mode, phase: (mode + suffix, owner.xapic_mode(mode, phase))

    if model.arch == "x":
        for key, owner in (("amd", model), ("intel_pti", older)):
            for name, (delta, origin) in mitigation_deltas(owner, "+mitig-" + key.replace("_", "-")).items():
                put(segments, {name: delta}, ("mitigations", key), origin if owner is model else "derived")
        put(segments, axis_deltas(older, suffixed(older, "+preempt-full")), ("preempt", "full"), from_older)
        put(segments, axis_deltas(model, lambda m, p: (model.xapic_mode(m, p), m)), ("apic", "xapic"), "measured")
    else:
        deltas = axis_deltas(older, suffixed(older, "+mitig-off"))
        deltas.update(whole_phase_deltas(older, "+mitig-off"))
        put(segments, deltas, ("mitigations", "off"), from_older)
    put(segments, axis_deltas(model, suffixed(model, "+cgroup2")), ("cgroup2",), "measured")


def describe(model, expression):
    """Says which CSV rows an expression reads."""
    def expand(match):
        return " ".join(model.aliases[match.group(0)])
    tokens = [re.sub(r"^[a-z]+", expand, t) if t[0].isalpha() else t for t in expression.split(" ")]
    return f"{model.data.file} {model.kernel}: " + " ".join(tokens)


def segment_json(model, name):
    entry = model.entries[name]
    expression = model.expression(name)
    counts = model.evaluate(name).total
    if min(counts) < 0:
        raise SystemExit(f"{name} of {model.kernel}: negative count {counts}")
    result = dict(zip(METRICS, counts))
    if re.fullmatch(r"=[\d/]+", expression):
        if any(counts):
            result.update(origin="assumed", range=entry["range"], source=entry["why"])
        else:
            result.update(origin="derived", source=entry["why"])
    elif re.search(r" - |@|=|\^", expression):
        why = entry.get("why", "difference of traced rows")
        result.update(origin="derived", source=why + "; " + describe(model, expression))
    else:
        result.update(origin="measured", source=describe(model, expression))
    return result


def derived_segments(header, documents):
    """What a file changes against the file it extends."""
    segments = {}
    rule = header.get("overrides")
    for name in rule["segments"] if rule else []:
        copied = dict(documents[rule["from"]]["segments"][name])
        copied["origin"] = "assumed" if "range" in copied else "derived"
        copied["source"] = f"{rule['from']}: {copied['source']}"
        segments[name] = copied
    spread = header.get("assume_all")
    for name, segment in documents[header["extends"]]["segments"].items() if spread else []:
        if not any(segment[m] for m in METRICS):
            continue
        low, high = segment.get("range", [segment["instructions"]] * 2)
        bounds = [low * spread["low_percent"] // 100, -(-high * spread["high_percent"] // 100)]
        segments[name] = segment | {"origin": "assumed", "range": bounds,
                                    "source": spread["why"] + "; " + segment["source"]}
    return segments


def build(mapping, data):
    """Every kernel file: name -> document."""
    models = {a + v: Model(mapping, data[a], a, v) for a in "xa" for v in ("61", "612")}
    for name, model in models.items():
        model.counterpart = models[name[0] + ("612" if model.version == "61" else "61")]
    documents = {}
    for header in mapping["files"]:
        document = {k: v for k, v in header.items() if k not in ("model", "overrides", "assume_all")}
        if "model" in header:
            model = models[header["model"]]
            document["segments"] = {n: segment_json(model, n) for n in model.names()}
            add_variants(model, document["segments"])
        else:
            document["segments"] = derived_segments(header, documents)
        documents[header["name"]] = document
    return documents


def dump(document):
    """Readable JSON: one line per header key and per segment."""
    lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in document.items() if k != "segments"]
    rows = [f"    {json.dumps(n)}: {json.dumps(s)}" for n, s in document["segments"].items()]
    lines.append('  "segments": {\n' + ",\n".join(rows) + "\n  }" if rows else '  "segments": {}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def load(directory):
    mapping = json.loads((ROOT / "scripts" / "path_segments.json").read_text())
    mapping["files"] = json.loads((ROOT / "scripts" / "kernel_files.json").read_text())["files"]
    directory = pathlib.Path(directory)
    return mapping, {"x": Data(directory / "x86_64.csv"), "a": Data(directory / "arm64.csv")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    parser.add_argument("--data", default=ROOT / ".." / "shared" / "data" / "path-lengths")
    arguments = parser.parse_args()
    differing = 0
    for name, document in build(*load(arguments.data)).items():
        path = ROOT / "sim-configs" / "kernels" / (name + ".json")
        text = dump(document)
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path}: differs from what the data gives", file=sys.stderr)
            differing += 1
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
