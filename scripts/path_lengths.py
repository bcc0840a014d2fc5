"""The traced path lengths as data, and the mapping's expressions over them."""

import csv

METRICS = ("instructions", "atomics", "barriers", "privileged")
ZERO = (0, 0, 0, 0)


class Missing(Exception):
    """A row that an expression names is not in the data."""


def add(a, b, sign=1):
    return tuple(p + sign * q for p, q in zip(a, b))


class Counts:
    """Four counts and what each (phase, cut, function) contributes to them."""

    def __init__(self, total=ZERO, parts=None):
        self.total = total
        self.parts = dict(parts or {})

    def accumulate(self, other, sign=1):
        self.total = add(self.total, other.total, sign)
        for key, counts in other.parts.items():
            self.parts[key] = add(self.parts.get(key, ZERO), counts, sign)

    def by_function(self):
        """Contributions by function name, whatever the cut."""
        result = {}
        for (_, _, name), counts in self.parts.items():
            result[name] = add(result.get(name, ZERO), counts)
        return result

    def in_cut(self, phase, cut):
        """Contributions by function name of one cut."""
        return {key[2]: counts for key, counts in self.parts.items() if key[:2] == (phase, cut)}


class Data:
    """The rows of one CSV file by (kernel, idle mode, phase, cut); cut '' is the whole phase."""

    def __init__(self, path):
        self.file = path.name
        self.rows = {}
        with path.open(newline="") as stream:
            for row in csv.DictReader(stream):
                if row["segment"].startswith("inclusive/"):
                    continue
                phase, _, cut = row["segment"].partition("#")
                key = (row["kernel"].split("-")[0], row["idle_mode"], phase, cut.split(" ")[0])
                counts = tuple(int(row[c]) for c in ("median_instructions",) + METRICS[1:])
                self.rows.setdefault(key, {})[row["function"]] = counts

    def get(self, kernel, mode, phase, cut=""):
        rows = self.rows.get((kernel, mode, phase, cut))
        if rows is None:
            raise Missing(f"{kernel} {mode} {phase}#{cut}")
        parts = {(phase, cut, f): c for f, c in rows.items() if f != "TOTAL"}
        return Counts(rows["TOTAL"], parts)

    def cuts(self, kernel, mode, phase):
        return [k[3] for k in self.rows if k[:3] == (kernel, mode, phase) and k[3]]


def parse_counts(text):
    return tuple(int(n) for n in text.split("/"))


def select(counts, functions):
    """The part of `counts` that a function list names ('!': all but the list)."""
    rows = {key[2]: (key, value) for key, value in counts.parts.items()}
    if not rows:
        raise Missing("self rows of a cut")
    negate = functions.startswith("!")
    picked = Counts()
    for item in functions.lstrip("!").split(","):
        name, _, part = item.partition("=")
        if name.endswith("?") and name[:-1] not in rows:
            continue
        if name.rstrip("?") not in rows:
            raise Missing(f"function {name}")
        key, value = rows[name.rstrip("?")]
        value = parse_counts(part) if part else value
        picked.accumulate(Counts(value, {key: value}))
    if not negate:
        return picked
    rest = Counts()
    for key, value in counts.parts.items():
        if key not in picked.parts:
            rest.accumulate(Counts(value, {key: value}))
    return rest


class Model:
    """The segments of one traced kernel: arch 'x' or 'a', version '61' or '612'."""

    def __init__(self, mapping, data, arch, version):
        self.mapping, self.data, self.arch, self.version = mapping, data, arch, version
        self.kernel = mapping["kernels"][version]
        self.aliases = mapping["aliases"][arch]
        self.entries = {s["n"]: s for s in mapping["segments"]}
        self.counterpart = None  # the same arch, the other version

    def pick(self, entry):
        """The entry's value for this kernel: 'x612' before 'x'; a phase may say "a": "x"."""
        found = entry.get(self.arch + self.version, entry.get(self.arch))
        return entry["x"] if found == "x" else found

    def names(self):
        return [s["n"] for s in self.mapping["segments"] if "value" in s or self.pick(s)]

    def expression(self, name):
        entry = self.entries[name]
        if "value" in entry:
            return "=" + "/".join(str(v) for v in entry["value"])
        expression = self.pick(entry)
        if expression is None:
            raise Missing(f"segment {name} of {self.arch}{self.version}")
        return expression

    def evaluate(self, name):
        expression = self.expression(name)
        if expression == "^":
            return self.counterpart.evaluate(name)
        result = Counts()
        sign = 1
        for token in expression.split(" "):
            if token in "+-":
                sign = 1 if token == "+" else -1
            else:
                result.accumulate(self.term(token), sign)
        return result

    def term(self, token):
        if token.startswith("="):
            return Counts(parse_counts(token[1:]))
        if token.startswith("@"):
            return self.evaluate(token[1:])
        where, _, functions = token.partition(":")
        alias, _, cut = where.rstrip("?").partition("#")
        mode, phase = self.aliases[alias]
        try:
            counts = self.data.get(self.kernel, mode, phase, cut)
        except Missing:
            if where.endswith("?"):
                return Counts()
            raise
        return select(counts, functions) if functions else counts

    def xapic_mode(self, mode, phase):
        """The idle mode whose run used the xAPIC, as all '+' variants did (path-lengths.md 2)."""
        wanted = mode
        if self.arch == "x" and mode == "hlt":
            sends = ("sys_write->user", "irq_call_function", "smpcall-single/cpu0", "futex/cpu0/sys_futex->user")
            if self.version == "61":
                wanted = "hlt+xapic"
            elif phase.startswith("membarrier/"):
                wanted = "mwait"
            elif any(s in phase for s in sends):
                wanted = "cpuidle-menu"
        return wanted if (self.kernel, wanted, phase, "") in self.data.rows else mode

    def phase_segments(self, alias):
        return next(self.pick(p) for p in self.mapping["phases"] if p["p"] == alias)
