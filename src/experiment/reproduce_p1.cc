// P1, TIF_NOTIFY_IPI. The published numbers are ratios to a baseline that is bimodal, from two
// machines and kernels whose activity and idle state are not stated. So they are judged as pairs
// against the joint region of runs over all documented ranges.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "idlesim/experiment/draws.h"
#include "idlesim/experiment/reproduce.h"
#include "idlesim/experiment/run.h"
#include "idlesim/report/published.h"
#include "reproduce_statistics.h"

namespace idlesim::experiment {

namespace {

constexpr const char* kCalls = "10000";  // per run; the published runs made 100,000

enum Side : std::size_t { kBaseline, kNotify, kRevert, kSides };

double run_time_us(const Variant& variant, const ReproduceOptions& options, int run) {
  const RunOutcome outcome =
      run_once(variant, options.seed, static_cast<std::uint64_t>(run), options.interrupted);
  if (!outcome.finished) throw Interrupted();
  return outcome.measurement.run_time.mean() / 1e6;
}

using Times = std::array<std::vector<double>, kSides>;  // run times by run

Times run_draws(const Draws& draws, const ReproduceOptions& options) {
  Times times;
  for (auto& side : times) side.resize(static_cast<std::size_t>(draws.count()));
  parallel(options, draws.count(), [&](int i) {
    const Draw draw = draws.make(i);
    const auto run = static_cast<std::size_t>(i);
    times[kBaseline][run] = run_time_us(variant_named(draw.variants, "baseline"), options, i);
    times[kNotify][run] = run_time_us(variant_named(draw.variants, "tif-notify-ipi"), options, i);
    times[kRevert][run] =
        run_time_us(variant_named(draw.variants, "revert-b2a02fc43a1f"), options, i);
  });
  return times;
}

std::vector<double> divided(std::vector<double> values, double by) {
  for (double& value : values) value /= by;
  return values;
}

// --- the joint region ---

// Distance of points from the centre of a cloud, in units of its own spread (Mahalanobis), in
// logarithms. A pair lies in the joint 5-95 % region if at most one run in ten is farther out.
class Cloud {
 public:
  Cloud(const std::vector<double>& x, const std::vector<double>& y) {
    const auto n = static_cast<double>(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      mean_x_ += std::log(x[i]) / n;
      mean_y_ += std::log(y[i]) / n;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double dx = std::log(x[i]) - mean_x_;
      const double dy = std::log(y[i]) - mean_y_;
      xx_ += dx * dx / n;
      xy_ += dx * dy / n;
      yy_ += dy * dy / n;
    }
    for (std::size_t i = 0; i < x.size(); ++i) distances_.push_back(distance(x[i], y[i]));
  }

  double distance(double x, double y) const {
    const double dx = std::log(x) - mean_x_;
    const double dy = std::log(y) - mean_y_;
    const double determinant = xx_ * yy_ - xy_ * xy_;
    return (yy_ * dx * dx - 2 * xy_ * dx * dy + xx_ * dy * dy) / determinant;
  }
  double share_farther(double x, double y) const {
    const double d = distance(x, y);
    const auto farther =
        std::count_if(distances_.begin(), distances_.end(), [d](double r) { return r >= d; });
    return static_cast<double>(farther) / static_cast<double>(distances_.size());
  }

 private:
  double mean_x_ = 0, mean_y_ = 0, xx_ = 0, xy_ = 0, yy_ = 0;
  std::vector<double> distances_;
};

struct Pair {
  const char* notify;
  const char* revert;
};

void judge_pair(const std::vector<report::PublishedRow>& rows, const Pair& pair,
                const std::vector<double>& notify, const std::vector<double>& revert,
                GroupResult& result) {
  const auto row = [&rows](const char* id) {
    return *std::find_if(rows.begin(), rows.end(), [id](const auto& r) { return r.id == id; });
  };
  const report::PublishedRow n = row(pair.notify);
  const report::PublishedRow r = row(pair.revert);
  const Cloud cloud(notify, revert);
  const double nx = (n.low + n.high) / 2;
  const double ry = (r.low + r.high) / 2;
  const double share = cloud.share_farther(nx, ry);
  const bool inside = share >= 0.1;
  result.pass.emplace_back(pair.notify, inside);
  result.pass.emplace_back(pair.revert, inside);
  int nearer = 0;
  const double quotient = ry / nx;
  for (std::size_t i = 0; i < notify.size(); ++i)
    nearer += revert[i] / notify[i] >= quotient ? 1 : 0;
  result.notes.push_back(fmt::format(
      "the pair ({}, {}) of {} and {} lies {} the joint 5-95 % region: {:.0f} % of the runs are "
      "farther from the centre; revert/notify is {:.2f} there, and at least that in {:.0f} % of "
      "the runs",
      nx, ry, pair.notify, pair.revert, inside ? "inside" : "outside", 100 * share, quotient,
      100.0 * nearer / static_cast<double>(notify.size())));
}

// --- sources of spread ---

std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) result[order[i]] = static_cast<double>(i);
  return result;
}

// Squared rank correlation: the share of the spread that goes along with the parameter.
double share_explained(const std::vector<double>& x, const std::vector<double>& y) {
  const std::vector<double> a = ranks(x);
  const std::vector<double> b = ranks(y);
  const double centre = static_cast<double>(a.size() - 1) / 2;
  double ab = 0;
  double aa = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - centre) * (b[i] - centre);
    aa += (a[i] - centre) * (a[i] - centre);
  }
  return aa == 0 ? 0 : ab * ab / (aa * aa);
}

void note_sources(const Draws& draws, const char* what, const std::vector<double>& values,
                  GroupResult& result) {
  std::vector<std::pair<double, const DrawnParameter*>> shares;
  for (const DrawnParameter& parameter : draws.parameters())
    shares.emplace_back(share_explained(parameter.values, values), &parameter);
  std::stable_sort(shares.begin(), shares.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text =
      fmt::format("spread of {}: 5 % {:.2f}, 50 % {:.2f}, 95 % {:.2f}; goes along with", what,
                  quantile(values, 0.05), quantile(values, 0.5), quantile(values, 0.95));
  for (std::size_t i = 0; i < std::min<std::size_t>(shares.size(), 4); ++i)
    text += fmt::format("{} {} ({}, {:.0f} %)", i == 0 ? "" : ",", shares[i].second->pointer,
                        shares[i].second->origin, 100 * shares[i].first);
  result.notes.push_back(text);
}

// Runs with the files' values: they differ by phase, background and the lines' places only.
void note_nominal(const Scenario& scenario, const ReproduceOptions& options, GroupResult& result) {
  constexpr int kRuns = 20;
  Times times;
  for (auto& side : times) side.resize(kRuns);
  parallel(options, kRuns, [&](int i) {
    const auto run = static_cast<std::size_t>(i);
    const auto time = [&](const char* name) {
      return run_time_us(variant_named(scenario.variants, name), options, i);
    };
    times[kBaseline][run] = time("baseline");
    times[kNotify][run] = time("tif-notify-ipi");
    times[kRevert][run] = time("revert-b2a02fc43a1f");
  });
  const double base = mean_of(times[kBaseline]);
  const auto [low, high] = std::minmax_element(times[kBaseline].begin(), times[kBaseline].end());
  result.notes.push_back(fmt::format(
      "with every parameter at its file's value ({} runs): notify {:.2f}, revert {:.2f}; baseline "
      "runs from {:.2f} to {:.2f} of their mean (phase of tick and start, background activity, "
      "places of the lines)",
      kRuns, mean_of(times[kNotify]) / base, mean_of(times[kRevert]) / base, *low / base,
      *high / base));
}

// --- P1.6 ---

report::Simulated ratio_of(const ConfigPaths& paths, const char* scenario_name,
                           const ReproduceOptions& options) {
  constexpr int kRuns = 10;
  const Scenario scenario =
      load_scenario(paths, scenario_name, {{"workload.parameters.numipi", kCalls}});
  std::vector<double> ratios(kRuns);
  parallel(options, kRuns, [&](int i) {
    ratios[static_cast<std::size_t>(i)] =
        run_time_us(variant_named(scenario.variants, "tif-notify-ipi"), options, i) /
        run_time_us(variant_named(scenario.variants, "baseline"), options, i);
  });
  const auto interval = report::mean_interval_95(ratios);
  return {mean_of(ratios), interval->low, interval->high, report::IntervalOf::kRuns};
}

}  // namespace

GroupResult reproduce_p1(const ConfigPaths& paths, const ReproduceOptions& options) {
  GroupResult result;
  const Scenario scenario =
      load_scenario(paths, "ipistorm-epyc-milan", {{"workload.parameters.numipi", kCalls}});
  const Draws draws(paths, scenario, std::max(options.runs, 20), options.seed);
  const Times times = run_draws(draws, options);
  const double mean_baseline = mean_of(times[kBaseline]);
  const auto base = divided(times[kBaseline], mean_baseline);
  const auto notify = divided(times[kNotify], mean_baseline);
  const auto revert = divided(times[kRevert], mean_baseline);

  result.simulated.emplace_back("P1.1", summarize(base));
  for (const char* id : {"P1.2", "P1.4"}) result.simulated.emplace_back(id, summarize(notify));
  for (const char* id : {"P1.3", "P1.5"}) result.simulated.emplace_back(id, summarize(revert));
  const auto rows = report::read_published(paths.root + "/published/p1.json");
  judge_pair(rows, {"P1.2", "P1.3"}, notify, revert, result);
  judge_pair(rows, {"P1.4", "P1.5"}, notify, revert, result);
  result.notes.push_back(fmt::format(
      "{} runs of {} calls, each with its own draw of the {} parameters that have a range (the "
      "same for all variants), normalised to the mean baseline",
      draws.count(), kCalls, draws.parameters().size()));
  note_sources(draws, "the baseline", base, result);
  note_sources(draws, "notify", notify, result);
  note_sources(draws, "revert", revert, result);
  note_nominal(scenario, options, result);

  result.simulated.emplace_back("P1.6.milan", ratio_of(paths, "ipistorm-epyc-milan", options));
  result.simulated.emplace_back("P1.6.altra", ratio_of(paths, "ipistorm-altra", options));
  result.simulated.emplace_back("P1.6.altra_polling",
                                ratio_of(paths, "ipistorm-altra-polling", options));
  return result;
}

}  // namespace idlesim::experiment
