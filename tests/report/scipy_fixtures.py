#!/usr/bin/env python3
"""What SciPy says about the statistics of a comparison: tests/report/golden/scipy.json.

usage: scipy_fixtures.py FILE           writes the file (Debian: python3-scipy)
       scipy_fixtures.py --check FILE   computes it again and compares; exit 77 without SciPy
"""

import json
import math
import os
import shutil
import sys

try:
    import numpy
    import scipy.stats as st
except ImportError:
    # A Python of the user's own hides the system's, which may have SciPy.
    system = shutil.which("python3", path=os.defpath)
    if system and not os.environ.get("SCIPY_FIXTURES_AGAIN"):
        os.execve(system, [system, *sys.argv], {**os.environ, "SCIPY_FIXTURES_AGAIN": "1"})
    print("SciPy is not installed: nothing is computed again")
    sys.exit(77)


def rank_sum_exact(first, second):
    """Two-sided exact p with ties: every split of the values is as likely as any other."""
    n = len(first)

    def statistic(x, y, axis=-1):
        ranks = st.rankdata(numpy.concatenate((x, y), axis=axis), axis=axis)
        return ranks[..., :n].sum(axis=axis)

    return st.permutation_test((first, second), statistic, vectorized=True, n_resamples=numpy.inf,
                               alternative="two-sided").pvalue


def signed_rank_exact(differences):
    """Two-sided exact p with ties, zeros left out: every choice of signs is as likely."""
    d = numpy.array([x for x in differences if x != 0])
    ranks = st.rankdata(abs(d))
    sums = numpy.zeros(1)
    for r in ranks:
        sums = numpy.concatenate((sums, sums + r))
    observed = ranks[d > 0].sum()
    return min(1.0, 2 * min((sums <= observed).mean(), (sums >= observed).mean()))


def mann_whitney(rng):
    cases = []
    for n, m, shift in [(3, 3, 2), (5, 7, 1), (10, 10, 1), (10, 10, 0), (8, 20, 0.5), (25, 25, 0.4)]:
        a, b = rng.normal(100, 1, n).round(6), rng.normal(100 + shift, 1, m).round(6)
        p = st.mannwhitneyu(a, b, alternative="two-sided", method="exact").pvalue
        cases.append({"first": a.tolist(), "second": b.tolist(), "p": p})
    for n, m in [(4, 5), (6, 6), (7, 9)]:  # ties
        a, b = rng.integers(0, 6, n), rng.integers(1, 8, m)
        cases.append({"first": a.tolist(), "second": b.tolist(), "p": rank_sum_exact(a, b)})
    for n, m, shift in [(40, 30, 0.5), (60, 60, 0.2), (200, 100, 0)]:  # the approximation
        a, b = rng.normal(100, 1, n).round(1), rng.normal(100 + shift, 1, m).round(1)
        p = st.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic").pvalue
        cases.append({"first": a.tolist(), "second": b.tolist(), "p": p})
    for case in cases:
        u = st.mannwhitneyu(case["second"], case["first"]).statistic
        case["effect"] = 2 * u / (len(case["first"]) * len(case["second"])) - 1
    return cases


def signed_rank(rng):
    cases = []
    for n, shift in [(1, 1), (5, 1), (10, 1), (10, 3), (12, 0), (30, 0.3), (50, 0.2)]:
        d = rng.normal(shift, 1, n).round(6)
        cases.append({"differences": d.tolist(), "p": st.wilcoxon(d, mode="exact").pvalue})
    for n in (6, 9, 14):  # ties and zeros
        d = rng.integers(-3, 6, n)
        cases.append({"differences": d.tolist(), "p": signed_rank_exact(d)})
    for n, shift in [(60, 0.2), (120, 0), (300, 0.1)]:  # the approximation, with ties
        d = rng.normal(shift, 1, n).round(1)
        p = st.wilcoxon(d, mode="approx", correction=True).pvalue
        cases.append({"differences": d.tolist(), "p": p})
    for case in cases:
        d = numpy.array([x for x in case["differences"] if x != 0])
        ranks = st.rankdata(abs(d))
        case["effect"] = (ranks[d > 0].sum() - ranks[d < 0].sum()) / ranks.sum()
    return cases


def holm():
    # false_discovery_control came later; Holm in one line of numpy.
    cases = []
    for p in ([0.01], [0.04, 0.01, 0.03], [0.5, 0.9, 0.7], [0.001, 0.002, 0.0025, 0.2, 0.003],
              [0.02, 0.02, 0.02]):
        p = numpy.array(p)
        order = numpy.argsort(p, kind="stable")
        steps = p[order] * (len(p) - numpy.arange(len(p)))
        corrected = numpy.empty(len(p))
        corrected[order] = numpy.minimum(1, numpy.maximum.accumulate(steps))
        cases.append({"p": p.tolist(), "corrected": corrected.tolist()})
    return cases


def bootstrap(rng):
    cases = []
    for n in (6, 10, 25):
        d = rng.normal(3, 2, n).round(6)
        ci = st.bootstrap((d,), numpy.median, n_resamples=50000, method="percentile",
                          random_state=1, axis=-1).confidence_interval
        cases.append({"paired": True, "first": [0.0] * n, "second": d.tolist(),
                      "low": ci.low, "high": ci.high})
    for n, m in ((8, 8), (10, 14)):
        a, b = rng.normal(100, 3, n).round(6), rng.normal(104, 3, m).round(6)

        def shift(x, y, axis=-1):
            return numpy.median(y, axis=axis) - numpy.median(x, axis=axis)

        ci = st.bootstrap((a, b), shift, n_resamples=50000, method="percentile", random_state=1,
                          vectorized=True).confidence_interval
        cases.append({"paired": False, "first": a.tolist(), "second": b.tolist(),
                      "low": ci.low, "high": ci.high})
    return cases


def median_interval():
    """Rank k, from either end, of the distribution-free 95 % interval; 0: none."""
    result = []
    for n in (1, 5, 6, 8, 9, 10, 15, 20, 50, 101, 1000):
        k = 0
        while k < n // 2 and 2 * st.binom.cdf(k, n, 0.5) <= 0.05:
            k += 1
        result.append({"n": n, "k": k})
    return result


def fixtures():
    rng = numpy.random.RandomState(20240607)
    return {"mann_whitney": mann_whitney(_Old(rng)), "signed_rank": signed_rank(_Old(rng)),
            "holm": holm(), "bootstrap": bootstrap(_Old(rng)), "median_interval": median_interval()}


class _Old:
    """RandomState, whose numbers never change, with the one newer name used here."""

    def __init__(self, rng):
        self._rng = rng
        self.normal = rng.normal
        self.integers = rng.randint


def differs(old, new, where=""):
    if isinstance(new, dict):
        return next((w for k in new if (w := differs(old.get(k), new[k], f"{where}/{k}"))), None)
    if isinstance(new, list):
        if not isinstance(old, list) or len(old) != len(new):
            return where
        return next((w for i, v in enumerate(new) if (w := differs(old[i], v, f"{where}/{i}"))), None)
    if isinstance(new, float):
        # The bootstrap's numbers may change with SciPy: a tenth of the interval's width or so.
        loose = 0.2 if "/bootstrap" in where else 1e-9
        same = isinstance(old, (int, float)) and math.isclose(old, new, rel_tol=loose, abs_tol=loose)
        return None if same else f"{where}: {old} is now {new}"
    return None if old == new else f"{where}: {old} is now {new}"


def main() -> int:
    new = json.loads(json.dumps(fixtures()))
    if sys.argv[1] != "--check":
        with open(sys.argv[1], "w", encoding="utf-8") as file:
            json.dump(new, file, indent=1)
            file.write("\n")
        return 0
    with open(sys.argv[2], encoding="utf-8") as file:
        old = json.load(file)
    found = differs(old, new)
    print(found or "SciPy says the same")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
