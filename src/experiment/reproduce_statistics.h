// Small statistics that the groups of `reproduce` have in common. Private to the experiment layer.
#ifndef IDLESIM_SRC_EXPERIMENT_REPRODUCE_STATISTICS_H_
#define IDLESIM_SRC_EXPERIMENT_REPRODUCE_STATISTICS_H_

#include <string>
#include <vector>

#include "idlesim/experiment/scenario.h"
#include "idlesim/report/reproduce.h"

namespace idlesim::experiment {

// Throws UserError if there is none.
const Variant& variant_named(const std::vector<Variant>& variants, const std::string& name);

double mean_of(const std::vector<double>& values);
// Standard deviation of the sample over its mean.
double relative_deviation(const std::vector<double>& values);
// Linear between the order statistics.
double quantile(std::vector<double> values, double q);
// Mean, and the interval that holds 95 % of the values, each of which has its own draw of the
// parameters.
report::Simulated summarize(const std::vector<double>& values);

}  // namespace idlesim::experiment

#endif  // IDLESIM_SRC_EXPERIMENT_REPRODUCE_STATISTICS_H_
