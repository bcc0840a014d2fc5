#include "topics.h"

namespace idlesim::app {

namespace {

constexpr const char* kScenarios =
    R"(A scenario is a JSON file. It names a machine, a kernel, a platform, a workload, and variants that
differ in some settings; the others are compared with the first.

  {
    "schema_version": 1,
    "name": "mine",
    "machine": "epyc-milan-2s-64c",
    "kernel": { "base": "linux-6.12-x86_64" },
    "workload": { "name": "ipistorm", "parameters": { "numipi": 10000, "single": 1 } },
    "variants": [
      { "name": "baseline" },
      { "name": "sm-idle", "set": { "kernel.schedule_idle": "sm_idle" } }
    ],
    "runs": 20
  }

  idlesim validate mine.json
  idlesim run ./mine.json

'idlesim list machines', 'list kernels', 'list features' and 'list workloads' say what can be named,
'idlesim schema scenario' describes every key. --set PATH=VALUE wins over the file.

Run number i of every variant sees the same random draws: start phases, background activity. So few
runs suffice to compare variants, and the same seed gives the same report.
)";

constexpr const char* kStatistics =
    R"(Each run is summed up to one number for every metric: its mean, p50, p90, p99, p99_9 or max. These
numbers are the observations; 10 runs are 10 observations, however many calls each of them made.

Two reports of one scenario and seed are compared as pairs of runs, because run i of both saw the
same random draws: Wilcoxon's signed-rank test. Others are two independent samples: the Mann-Whitney
test. Both are exact for up to 50 numbers, ties included, and assume no distribution.

The change is the median over the pairs' changes in percent, or that of the two medians. Its 95 %
interval is a bootstrap interval (percentiles, 2000 resamples, seeded: --bootstrap-seed). base and
new are medians over runs; their intervals are those of order statistics.

What is judged are the metrics with a gate: by default the mean of every metric with a threshold of
2 %. p is corrected by Holm's method over the judged metrics of a variant, so that the chance of any
false alarm among them is below alpha (0.01).

  REGRESSION   p < alpha, and the nearer end of the interval is beyond the threshold and worse
  better       the same in the other direction
  changed      p < alpha, but the interval is not beyond the threshold
  ~            no difference shown; "~ identical": the same numbers in every run
  ?            no verdict, and why

With few runs a rank test cannot give a small p: 10 pairs give at least 2/1024, which at alpha 0.01
is enough for 5 judged metrics; 11 pairs are enough for 10. Metrics beyond that get no verdict, the
later ones first; -n 20 is enough for all.
)";

constexpr const char* kGates =
    R"(A gates file says which metrics 'idlesim compare --gate FILE' and 'idlesim run --gate FILE' judge:

  {
    "schema_version": 1,
    "alpha": 0.01,
    "gates": [
      { "metric": "call_round_trip_ns.p99", "threshold_percent": 5 },
      { "metric": "call_round_trip_ns.p99_9" },
      { "metric": "*.mean", "threshold_percent": 2, "variant": "sm-*" }
    ]
  }

A metric is ID.STATISTIC (mean, p50, p90, p99, p99_9, max); without a statistic the mean is meant. *
stands for any characters, ? for one. The first gate that matches counts. A metric without wildcards
has to be there: if it gets no verdict, the comparison is inconclusive.

--threshold 'METRIC.STATISTIC=5%' adds a gate before those of the file, or before the default one,
which is the mean of every metric; --threshold '*.mean=off' takes the default away.
)";

constexpr const char* kExitCodes = R"(  0         success; compare: no regression
  1         compare, run --gate: a regression
  2         wrong arguments or files; nothing was simulated
  3         the simulation failed: an invariant broke, or a run cannot progress
  4         compare, run --gate: inconclusive (too few runs, no baseline, another model version)
  130, 143  ended by SIGINT, SIGTERM; what was finished is printed and says so

With --bisect, for 'git bisect run': 0 good; 1 bad; 125 in place of 3 and 4, which skips the commit;
255 in place of 2, which ends the search.
)";

constexpr const char* kEnvironment =
    R"(  IDLESIM_CONFIGS  the directory with machines, kernels and scenarios, in place of the shipped one
  NO_COLOR         if not empty: no colour
  FORCE_COLOR, CLICOLOR_FORCE
                   if not empty, and NO_COLOR is not set: colour even into a pipe
  CI               if not empty: no progress bar, a line every 30 s instead
  TERM             "dumb": no colour and no progress bar

--color wins over all of them. No environment variable changes a result.
)";

constexpr const char* kCi = R"(Let a job fail if a change makes latency worse:

  idlesim run SCENARIO -f json -o new.json
  idlesim compare base.json new.json --gate gates.json -f markdown -o summary.md

The exit code is the verdict ('idlesim help exit-codes'). -f junit, ktap, csv, openmetrics and more
are for what reads it further. base.json is a report of the branch the change goes to, from the same
idlesim: reports of different model versions are not compared.

Variants of one scenario need no baseline:

  idlesim run SCENARIO --gate gates.json -f junit -o result.xml

Search the commit that made it worse:

  git bisect start BAD GOOD
  git bisect run sh -c 'make || exit 125
    idlesim run --bisect SCENARIO --gate gates.json'

docs/ci.md has recipes for GitHub, GitLab and plain shell.
)";

constexpr Topic kTopics[] = {
    {"scenarios", "How to write a scenario", kScenarios},
    {"compare-statistics", "How a comparison comes to its verdict", kStatistics},
    {"gates", "Which metrics are judged, with which thresholds", kGates},
    {"ci", "Continuous integration and git bisect", kCi},
    {"exit-codes", "What the exit codes mean", kExitCodes},
    {"environment", "Environment variables", kEnvironment},
};

}  // namespace

std::span<const Topic> topics() { return kTopics; }

}  // namespace idlesim::app
