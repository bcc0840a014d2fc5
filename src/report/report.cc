#include "idlesim/report/report.h"

#include <algorithm>

namespace idlesim::report {

namespace {

template <typename Items, typename Member>
auto find(const Items& items, Member member, std::string_view name) -> decltype(items.data()) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const auto& item) { return item.*member == name; });
  return found == items.end() ? nullptr : &*found;
}

}  // namespace

const Metric* Variant::metric(std::string_view id) const { return find(metrics, &Metric::id, id); }

const Counter* Variant::counter(std::string_view counter_name) const {
  return find(counters, &Counter::name, counter_name);
}

const Stage* Variant::stage(std::string_view stage_name) const {
  return find(stages, &Stage::name, stage_name);
}

}  // namespace idlesim::report
