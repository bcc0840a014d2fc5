#include "idlesim/report/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge.h"

namespace idlesim::report {

namespace {

constexpr Statistic kShown[] = {Statistic::kMean, Statistic::kP50, Statistic::kP99};

bool has_one_sample_a_run(const Metric* metric) {
  return metric == nullptr || std::all_of(metric->per_run.begin(), metric->per_run.end(),
                                          [](const RunSummary& run) { return run.n <= 1; });
}

void fill(Side& side) {
  side.median = median(side.values);
  side.median_ci95 = median_interval_95(side.values);
  side.mean = mean(side.values);
  side.mean_ci95 = mean_interval_95(side.values);
  side.stdev = stdev(side.values);
}

void take_values(const Metric& base, const Metric& now, Pairing pairing, MetricComparison& out) {
  const auto value = [&](const RunSummary& run) { return value_of(run, out.statistic); };
  if (pairing == Pairing::kPaired) {
    for (std::size_t i = 0; i < std::min(base.per_run.size(), now.per_run.size()); ++i) {
      if (base.per_run[i].n == 0 || now.per_run[i].n == 0) continue;
      out.base.values.push_back(value(base.per_run[i]));
      out.now.values.push_back(value(now.per_run[i]));
    }
  } else {
    for (const RunSummary& run : base.per_run)
      if (run.n > 0) out.base.values.push_back(value(run));
    for (const RunSummary& run : now.per_run)
      if (run.n > 0) out.now.values.push_back(value(run));
  }
  fill(out.base);
  fill(out.now);
}

// Why the two cannot be compared; empty if they can.
std::string mismatch(const Metric* base, const Metric* now) {
  if (base == nullptr || base->n == 0) return "no samples in the base";
  if (now == nullptr || now->n == 0) return "no samples in the new report";
  if (base->unit != now->unit)
    return fmt::format("the units differ: {} and {}", base->unit, now->unit);
  if (base->better != now->better) return "the sides disagree about which direction is better";
  return {};
}

class VariantComparer {
 public:
  VariantComparer(const Variant& base, const Variant& now, Pairing pairing,
                  const CompareOptions& options)
      : base_(base), now_(now), options_(options) {
    out_.base = base.name;
    out_.now = now.name;
    out_.pairing = pairing;
    out_.base_runs = base.runs;
    out_.now_runs = now.runs;
  }

  VariantComparison compare() {
    for (const Metric& metric : base_.metrics) add_metric(metric, &metric, now_.metric(metric.id));
    for (const Metric& metric : now_.metrics)
      if (base_.metric(metric.id) == nullptr) add_metric(metric, nullptr, &metric);
    add_named_but_absent();
    add_stages();
    return std::move(out_);
  }

 private:
  void add_metric(const Metric& example, const Metric* base, const Metric* now) {
    const bool single = has_one_sample_a_run(base) && has_one_sample_a_run(now);
    for (const Statistic statistic : kStatistics) {
      const Gate* gate = options_.gates.find(example.id, statistic, now_.name);
      const bool judged = gate != nullptr && !gate->off &&
                          (!single || statistic == Statistic::kMean || gate->is_literal());
      const bool shown =
          std::find(std::begin(kShown), std::end(kShown), statistic) != std::end(kShown) &&
          (!single || statistic == Statistic::kMean);
      if (!judged && !shown) continue;
      MetricComparison one;
      one.metric = example.id;
      one.statistic = statistic;
      one.unit = example.unit;
      one.better = example.better;
      if (judged) {
        one.threshold_percent =
            gate->threshold_percent.value_or(default_threshold_percent(statistic));
        one.required = gate->is_literal();
      }
      add(std::move(one), base, now);
    }
  }

  void add(MetricComparison one, const Metric* base, const Metric* now) {
    one.missing_in_base = base == nullptr || base->n == 0;
    one.reason = mismatch(base, now);
    if (one.reason.empty()) {
      take_values(*base, *now, out_.pairing, one);
      if (one.base.values.empty()) one.reason = "no run has samples on both sides";
    }
    if (!one.base.values.empty()) measure_change(one);
    if (one.threshold_percent && !one.reason.empty()) one.verdict = Verdict::kNoVerdict;
    out_.metrics.push_back(std::move(one));
  }

  void measure_change(MetricComparison& one) const {
    const Draws draws(options_.seed, out_.now + "/" + one.name());
    if (out_.pairing == Pairing::kPaired) {
      one.change = paired_shift(one.base.values, one.now.values);
      one.change_ci95 =
          paired_shift_interval_95(one.base.values, one.now.values, options_.resamples, draws);
    } else {
      one.change = independent_shift(one.base.values, one.now.values);
      one.change_ci95 =
          independent_shift_interval_95(one.base.values, one.now.values, options_.resamples, draws);
    }
  }

  // Gates without a wildcard that no metric of either side answers to.
  void add_named_but_absent() {
    for (const Gate& gate : options_.gates.gates) {
      if (!gate.is_literal() || !matches(gate.variant, now_.name)) continue;
      const std::size_t dot = gate.pattern.rfind('.');
      MetricComparison one;
      one.metric = gate.pattern.substr(0, dot);
      if (base_.metric(one.metric) != nullptr || now_.metric(one.metric) != nullptr) continue;
      for (const Statistic statistic : kStatistics)
        if (to_string(statistic) == gate.pattern.substr(dot + 1)) one.statistic = statistic;
      one.threshold_percent =
          gate.threshold_percent.value_or(default_threshold_percent(one.statistic));
      one.required = true;
      one.verdict = Verdict::kNoVerdict;
      one.reason = "there is no such metric on either side";
      out_.metrics.push_back(std::move(one));
    }
  }

  void add_stages() {
    for (const Stage& stage : base_.stages) {
      const Stage* now = now_.stage(stage.name);
      out_.stages.push_back({stage.name, stage.mean_ns,
                             now == nullptr ? std::nullopt : std::optional<double>(now->mean_ns)});
    }
    for (const Stage& stage : now_.stages)
      if (base_.stage(stage.name) == nullptr)
        out_.stages.push_back({stage.name, std::nullopt, stage.mean_ns});
  }

  const Variant& base_;
  const Variant& now_;
  const CompareOptions& options_;
  VariantComparison out_;
};

Source source_of(const Report& report, const std::string& name) {
  return {name,
          report.scenario.name,
          report.scenario.digest,
          report.manifest.version,
          report.manifest.git_commit,
          report.manifest.model_version,
          report.manifest.seed};
}

void add_pair(const Variant& base, const Variant& now, Pairing pairing,
              const CompareOptions& options, Comparison& out) {
  out.variants.push_back(VariantComparer(base, now, pairing, options).compare());
  judge(out.variants.back(), out.alpha, out.refused);
}

const Variant* find_variant(const Report& report, const std::string& name) {
  for (const Variant& variant : report.variants)
    if (variant.name == name) return &variant;
  return nullptr;
}

Comparison started(const Source& base, const Source& now, const CompareOptions& options) {
  Comparison out;
  out.base = base;
  out.now = now;
  out.alpha = options.gates.alpha;
  out.resamples = options.resamples;
  out.seed = options.seed;
  return out;
}

void add_warnings(const Report& base, const Report& now, Comparison& out) {
  if (base.scenario.name != now.scenario.name)
    out.warnings.push_back(fmt::format("the reports are of different scenarios: {} and {}",
                                       base.scenario.name, now.scenario.name));
  for (const Report* report : {&base, &now})
    if (report->incomplete)
      out.warnings.push_back(fmt::format("{} was interrupted: only its finished runs are compared",
                                         report == &base ? "the base" : "the new report"));
}

}  // namespace

std::string_view to_string(Pairing pairing) {
  return pairing == Pairing::kPaired ? "paired" : "independent";
}

std::string_view to_string(Verdict verdict) {
  constexpr std::string_view kNames[] = {"regression",    "improvement", "below_threshold",
                                         "no_difference", "no_verdict",  "not_judged"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view to_string(Outcome outcome) {
  constexpr std::string_view kNames[] = {"pass", "fail", "inconclusive"};
  return kNames[static_cast<std::size_t>(outcome)];
}

std::string MetricComparison::name() const {
  return metric + "." + std::string(to_string(statistic));
}

std::string VariantComparison::title() const { return base == now ? base : base + " -> " + now; }

Comparison compare_reports(const Report& base, const std::string& base_name, const Report& now,
                           const std::string& now_name, const CompareOptions& options) {
  Comparison out = started(source_of(base, base_name), source_of(now, now_name), options);
  if (out.base.model_version != out.now.model_version)
    out.refused = fmt::format("the model versions differ: {} and {}", out.base.model_version,
                              out.now.model_version);
  add_warnings(base, now, out);
  // Runs of an interrupted report have lost their numbers.
  const bool same_draws = out.base.scenario == out.now.scenario && out.base.seed == out.now.seed &&
                          !base.incomplete && !now.incomplete;
  const Pairing pairing =
      options.pairing.value_or(same_draws ? Pairing::kPaired : Pairing::kIndependent);
  if (base.variants.size() == 1 && now.variants.size() == 1) {
    add_pair(base.variants.front(), now.variants.front(), pairing, options, out);
    return out;
  }
  for (const Variant& variant : now.variants) {
    const Variant* before = find_variant(base, variant.name);
    if (before == nullptr)
      out.missing_in_base.push_back(variant.name);
    else
      add_pair(*before, variant, pairing, options, out);
  }
  for (const Variant& variant : base.variants)
    if (find_variant(now, variant.name) == nullptr) out.missing_in_new.push_back(variant.name);
  return out;
}

Comparison compare_variants(const Report& report, const std::string& name,
                            const CompareOptions& options) {
  const Source source = source_of(report, name);
  Comparison out = started(source, source, options);
  if (report.incomplete)
    out.warnings.emplace_back("the report was interrupted: only its finished runs are compared");
  const Pairing pairing =
      options.pairing.value_or(report.incomplete ? Pairing::kIndependent : Pairing::kPaired);
  for (const Variant& variant : report.variants)
    if (&variant != &report.variants.front())
      add_pair(report.variants.front(), variant, pairing, options, out);
  return out;
}

}  // namespace idlesim::report
