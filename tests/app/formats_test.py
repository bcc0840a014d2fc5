#!/usr/bin/env python3
"""Every format of `compare` and `export`, read back by something that is not idlesim.

usage: formats_test.py PROGRAM [unittest arguments]
"""

import csv
import io
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

PROGRAM = sys.argv[1]
# Names that every format has to quote somehow.
SCENARIO = 'a, "b" <c> & #d\\'
CONFIG = {
    "schema_version": 1,
    "name": "small",
    "machine": "epyc-milan-2s-64c",
    "kernel": {"base": "linux-6.10-x86_64", "idle_enter": "mwait_ecx1"},
    "workload": {"name": "ipistorm",
                 "parameters": {"numipi": 200, "single": 1, "offset": 8, "cpulist": [8]}},
    "variants": [{"name": "a"}, {"name": "b", "set": {"kernel.schedule_idle": "sm_idle"}}],
    "runs": 10,
}
STATISTICS = ("mean", "p50", "p90", "p99", "p99_9", "max")


def idlesim(*arguments, stdin=None, codes=(0, 1)):
    done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, text=True)
    if done.returncode not in codes:
        raise AssertionError(f"{arguments}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


class Formats(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.directory.name)
        scenario = root / "s.json"
        scenario.write_text(json.dumps(CONFIG))
        cls.base, cls.now = str(root / "base.json"), str(root / "new.json")
        idlesim("run", str(scenario), "-f", "json", "-o", cls.base)
        idlesim("run", str(scenario), "-f", "json", "-o", cls.now, "--set",
                "machine.core.kernel_ipc=0.8")
        for path in (cls.base, cls.now):
            report = json.loads(pathlib.Path(path).read_text())
            report["scenario"]["name"] = SCENARIO
            pathlib.Path(path).write_text(json.dumps(report))
        cls.report = report
        cls.verdict = json.loads(cls.compare("json"))

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    @classmethod
    def compare(cls, form):
        return idlesim("compare", cls.base, cls.now, "-f", form)

    def judged(self):
        return [(v, m) for v in self.verdict["variants"] for m in v["metrics"]
                if m["verdict"] != "not_judged"]

    def test_json_agrees_with_itself(self):
        self.assertEqual(self.verdict["outcome"], "fail")
        for variant in self.verdict["variants"]:
            for metric in variant["metrics"]:
                for side in ("base", "new"):
                    values = metric[side]["values"]
                    self.assertEqual(metric[side]["n"], len(values))
                    if values:
                        self.assertAlmostEqual(metric[side]["median"] / statistics.median(values), 1, 5)
                        self.assertAlmostEqual(metric[side]["mean"] / statistics.mean(values), 1, 5)
        counts = self.verdict["summary"]
        found = [m["verdict"] for _, m in self.judged()]
        self.assertGreater(counts["regressions"], 0)
        self.assertEqual(counts["regressions"], found.count("regression"))
        self.assertEqual(counts["no_verdict"], found.count("no_verdict"))

    def test_junit(self):
        root = ET.fromstring(self.compare("junit"))
        self.assertEqual(root.tag, "testsuites")
        suites = root.findall("testsuite")
        self.assertEqual([s.get("name") for s in suites], [SCENARIO + ".a", SCENARIO + ".b"])
        for attribute, tag in (("failures", "failure"), ("skipped", "skipped"), ("errors", "error")):
            for element in [root, *suites]:
                self.assertEqual(int(element.get(attribute)), len(element.findall(f".//{tag}")))
        cases = root.findall(".//testcase")
        self.assertEqual(int(root.get("tests")), len(cases))
        self.assertEqual([c.get("name") for c in cases],
                         [f"{m['metric']}.{m['statistic']}" for _, m in self.judged()])
        failed = [m for _, m in self.judged() if m["verdict"] == "regression"]
        self.assertEqual(len(root.findall(".//failure")), len(failed))

    def test_ktap(self):
        lines = self.compare("ktap").splitlines()
        self.assertEqual(lines[0], "KTAP version 1")
        plan = int(re.fullmatch(r"1\.\.(\d+)", lines[1])[1])
        outer = [re.fullmatch(r"(not )?ok (\d+) ([^#]+?)", l) for l in lines[2:] if l[0] != " "]
        self.assertEqual([int(m[2]) for m in outer], list(range(1, plan + 1)))
        inner = [m for l in lines if (m := re.fullmatch(
            r"  (not )?ok (\d+) (\S+)( # SKIP .+)?", l))]
        judged = self.judged()
        self.assertEqual([m[3] for m in inner], [f"{m['metric']}.{m['statistic']}" for _, m in judged])
        self.assertEqual([bool(m[1]) for m in inner], [m["verdict"] == "regression" for _, m in judged])
        plans = [int(m[1]) for l in lines if (m := re.fullmatch(r"  1\.\.(\d+)", l))]
        self.assertEqual(sum(plans), len(inner))
        for line in lines:
            self.assertRegex(line, r"^(  )?(KTAP version 1|1\.\.\d+|# .*|(not )?ok \d+ .*)$")

    def test_csv_of_a_comparison(self):
        rows = list(csv.DictReader(io.StringIO(self.compare("csv")), strict=True))
        metrics = [(v, m) for v in self.verdict["variants"] for m in v["metrics"]]
        self.assertEqual(len(rows), len(metrics))
        for row, (variant, metric) in zip(rows, metrics):
            self.assertNotIn(None, row)  # no line has more fields than the header
            self.assertEqual(row["scenario"], SCENARIO)
            self.assertEqual(row["new_variant"], variant["new"])
            self.assertEqual(row["verdict"], metric["verdict"])
            self.assertEqual(int(row["new_n"]), metric["new"]["n"])
            if metric["change_percent"] is None:
                self.assertEqual(row["change_percent"], "")
            else:
                self.assertTrue(math.isclose(float(row["change_percent"]), metric["change_percent"],
                                             rel_tol=1e-5))

    def test_lkp(self):
        rows = [m for l in self.compare("lkp").splitlines()
                if (m := re.fullmatch(r" *(\S+) (?:± *\d+%)? *([+-][\d.]+%|-) +(\S+) (?:± *\d+%)? *"
                                      r"(\w+\.\w+)", l))]
        names = [f"{m['metric']}.{m['statistic']}" for v in self.verdict["variants"]
                 for m in v["metrics"]]
        self.assertEqual([m[4] for m in rows], names)
        for match, metric in zip(rows, [m for v in self.verdict["variants"] for m in v["metrics"]]):
            if metric["base"]["n"]:
                self.assertTrue(math.isclose(float(match[1]), metric["base"]["mean"], rel_tol=1e-3))

    def check_google_benchmark(self, text):
        document = json.loads(text)
        self.assertEqual(document["context"]["json_schema_version"], 1)
        runs = {}
        for one in document["benchmarks"]:
            self.assertEqual((one["run_type"], one["time_unit"]), ("iteration", "ns"))
            self.assertEqual(one["real_time"], one["cpu_time"])
            self.assertEqual(one["name"], one["run_name"])
            self.assertEqual(one["repetition_index"], len(runs.setdefault(one["name"], [])))
            runs[one["name"]].append(one["real_time"])
        return runs

    def test_google_benchmark(self):
        runs = self.check_google_benchmark(self.compare("google-benchmark"))
        variant = self.verdict["variants"][0]
        metric = variant["metrics"][0]
        name = f"{SCENARIO}/a/{metric['metric']}.{metric['statistic']}"
        self.assertEqual(runs[name + "/base"], metric["base"]["values"])
        self.assertEqual(runs[name + "/new"], metric["new"]["values"])
        exported = self.check_google_benchmark(idlesim("export", self.now, "-f", "google-benchmark"))
        per_run = self.report["variants"][0]["metrics"]["run_time_ns"]["per_run"]
        self.assertEqual(exported[f"{SCENARIO}/a/run_time_ns"], [r["mean"] for r in per_run])

    def openmetrics(self, text):
        """The rules of the OpenMetrics text format that concern what idlesim writes."""
        self.assertTrue(text.endswith("# EOF\n"))
        family, kind, seen, samples = None, None, set(), {}
        for line in text.splitlines()[:-1]:
            meta = re.fullmatch(r"# (TYPE|UNIT|HELP) (\w+) (.+)", line)
            if meta:
                if meta[1] == "TYPE":
                    family, kind = meta[2], meta[3]
                    self.assertNotIn(family, seen)
                    seen.add(family)
                self.assertEqual(meta[2], family)
                if meta[1] == "UNIT":
                    self.assertTrue(family.endswith("_" + meta[3]))
                continue
            sample = re.fullmatch(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (\S+)', line)
            self.assertIsNotNone(sample, line)
            suffix = sample[1].removeprefix(family)
            self.assertIn(suffix, {"gauge": [""], "counter": ["_total"],
                                   "summary": ["", "_count", "_sum"]}[kind])
            labels = tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', sample[2])))
            self.assertNotIn((sample[1], labels), samples)
            samples[sample[1], labels] = float(sample[3])
        return samples

    def test_openmetrics(self):
        samples = self.openmetrics(self.compare("openmetrics"))
        regressions = [v for (name, _), v in samples.items() if name == "idlesim_compare_regression"]
        self.assertEqual(sum(regressions), self.verdict["summary"]["regressions"])
        self.assertIn(1, [v for (name, _), v in samples.items() if name == "idlesim_compare_outcome"])
        exported = self.openmetrics(idlesim("export", self.now, "-f", "openmetrics"))
        metric = self.report["variants"][1]["metrics"]["call_round_trip_ns"]
        for (name, labels), value in exported.items():
            if name == "idlesim_call_round_trip_seconds" and ("variant", "b") in labels:
                key = {"0.5": "p50", "0.9": "p90", "0.99": "p99", "0.999": "p99_9",
                       "0.9999": "p99_99"}[dict(labels)["quantile"]]
                self.assertTrue(math.isclose(value, metric[key] / 1e9, rel_tol=1e-9))

    def test_markdown(self):
        text = self.compare("markdown")
        widths = {len(re.findall(r"(?<!\\)\|", l)) for l in text.splitlines() if l.startswith("|")}
        self.assertEqual(widths, {9})
        self.assertIn("**REGRESSION**", text)
        self.assertEqual(text.count("<details>"), text.count("</details>"))

    def test_text_is_no_wider_than_100_columns(self):
        for line in self.compare("text").splitlines():
            if not line.startswith(("base ", "new ", "      ")):
                self.assertLessEqual(len(line), 100, line)

    def test_csv_of_a_report(self):
        rows = list(csv.DictReader(io.StringIO(idlesim("export", self.now, "-f", "csv")), strict=True))
        expected = [(v["name"], name, r) for v in self.report["variants"]
                    for name, m in v["metrics"].items() for r in m["per_run"]]
        self.assertEqual(len(rows), len(expected))
        for row, (variant, metric, run) in zip(rows, expected):
            self.assertEqual((row["scenario"], row["variant"], row["metric"], int(row["n"])),
                             (SCENARIO, variant, metric, run["n"]))
            for key in STATISTICS:
                self.assertEqual(float(row[key]) if row[key] else None, run[key])

    def test_hgrm(self):
        for variant in self.report["variants"]:
            for name, metric in variant["metrics"].items():
                text = idlesim("export", self.now, "-f", "hgrm", "--variant", variant["name"],
                               "--metric", name)
                self.check_hgrm(text, metric)

    def check_hgrm(self, text, metric):
        """As the plotters of HdrHistogram read it: columns, then three lines that begin with #."""
        lines = text.splitlines()
        self.assertEqual(lines[0].split(), ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"])
        rows = [line.split() for line in lines[2:-3]]
        value, share, count = ([float(r[i]) for r in rows] for i in range(3))
        self.assertEqual(rows[-1][1:], ["1.000000", str(metric["n"]), "inf"])
        self.assertEqual(value, sorted(value))
        self.assertEqual(share, sorted(share))
        self.assertEqual(count, sorted(count))
        self.assertEqual(value[-1], round(metric["max"], 3))
        # Each line against the histogram: its count is that of all values up to its own.
        edges, counts = metric["histogram"]["edges"], metric["histogram"]["counts"]
        for v, p, c in zip(value[:-1], share[:-1], count[:-1]):
            below = sum(n for upper, n in zip(edges[1:], counts) if upper <= v + 5e-4 or v == value[-1])
            self.assertEqual(below, c)
            self.assertGreaterEqual(c / metric["n"], p - 5e-7)
        # Five lines for each halving of the distance.
        for k in range(12):
            low, high = 1 - 2.0 ** -k - 1e-6, 1 - 2.0 ** -(k + 1) - 1e-6
            if share[-2] >= high:
                self.assertEqual(sum(low <= p < high for p in share[:-1]), 5, (k, metric["n"]))
        mean, deviation = re.fullmatch(r"#\[Mean    = +(\S+), StdDeviation   = +(\S+)\]", lines[-3]).groups()
        self.assertAlmostEqual(float(mean), metric["mean"], 2)
        self.assertGreaterEqual(float(deviation), 0)
        self.assertRegex(lines[-2], rf"#\[Max     = +{metric['max']:.3f}, Total count    = +{metric['n']}\]")
        self.assertRegex(lines[-1], r"#\[Buckets = +\d+, SubBuckets     = +\d+\]")

    def test_export_says_what_it_needs(self):
        done = subprocess.run([PROGRAM, "export", self.now, "-f", "hgrm"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"^error: --format hgrm: a file holds one metric of one variant; "
                                      r"choose with --variant \(a, b\) and --metric \(run_time_ns, ")
        done = subprocess.run([PROGRAM, "export", self.now, "--metric", "run_tim_ns"],
                              capture_output=True, text=True)
        self.assertEqual(done.stderr, 'error: --metric: the report has no metric "run_tim_ns"; did you '
                                      'mean "run_time_ns"?\n')

    def test_export_reads_standard_input_and_prints_the_same_json(self):
        text = pathlib.Path(self.base).read_text()
        once = idlesim("export", "-", "-f", "json", stdin=text)
        self.assertEqual(json.loads(once), json.loads(text))
        self.assertEqual(idlesim("export", "-", "-f", "json", stdin=once), once)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
