#include "idlesim/hw/core_to_core.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/hw/csv.h"

namespace idlesim::hw {

namespace {

enum class Shape { kLowerTriangle, kSquare };

CoreToCoreMatrix read_matrix(const std::string& path, Shape shape) {
  const std::vector<CsvRow> rows = read_csv(path);
  if (rows.size() < 2) input_error(path, 1, "a matrix has at least two rows");
  for (const CsvRow& row : rows)
    if (row.fields.size() != rows.size())
      input_error(path, row.line,
                  std::to_string(row.fields.size()) + " columns in a matrix of " +
                      std::to_string(rows.size()) + " rows");
  const int nr_cpus = static_cast<int>(rows.size());
  CoreToCoreMatrix matrix(nr_cpus);
  for (int r = 0; r < nr_cpus; ++r) {
    const CsvRow& row = rows[static_cast<std::size_t>(r)];
    for (int c = 0; c < nr_cpus; ++c) {
      const std::string& field = row.fields[static_cast<std::size_t>(c)];
      const std::string cell = "cell " + std::to_string(c + 1) + " of the row ";
      const bool may_hold = shape == Shape::kSquare ? c != r : c < r;
      if (!may_hold && !field.empty())
        input_error(path, row.line, cell + "must be empty (the diagonal, or above it)");
      if (shape == Shape::kSquare && may_hold && field.empty())
        input_error(path, row.line, cell + "is empty");
      if (field.empty()) continue;
      const Time value = parse_ns(field, path, row.line);
      if (value <= Time()) input_error(path, row.line, cell + "must be more than 0 ns");
      matrix.set(r, c, value);
    }
  }
  if (matrix.nr_measured() == 0) input_error(path, 1, "the matrix is empty");
  return matrix;
}

}  // namespace

CoreToCoreMatrix::CoreToCoreMatrix(int nr_cpus)
    : nr_cpus_(nr_cpus),
      one_way_(static_cast<std::size_t>(nr_cpus) * static_cast<std::size_t>(nr_cpus),
               Time::never()) {}

int CoreToCoreMatrix::nr_measured() const {
  return static_cast<int>(one_way_.size() - static_cast<std::size_t>(std::count(
                                                one_way_.begin(), one_way_.end(), Time::never())));
}

Time CoreToCoreMatrix::one_way(CpuId row, CpuId column) const {
  CHECK(measured(row, column), "pair " + std::to_string(row) + ", " + std::to_string(column));
  return at(row, column);
}

void CoreToCoreMatrix::set(CpuId row, CpuId column, Time one_way) {
  CHECK(row >= 0 && row < nr_cpus_ && column >= 0 && column < nr_cpus_);
  one_way_[static_cast<std::size_t>(row) * static_cast<std::size_t>(nr_cpus_) +
           static_cast<std::size_t>(column)] = one_way;
}

CoreToCoreMatrix read_kcores_matrix(const std::string& path) {
  return read_matrix(path, Shape::kLowerTriangle);
}

CoreToCoreMatrix read_soilros_matrix(const std::string& path) {
  return read_matrix(path, Shape::kSquare);
}

std::vector<Time> transfers(const CoreToCoreMatrix& matrix, const Topology& topology,
                            Relation relation, int socket) {
  if (matrix.nr_cpus() > topology.nr_cpus())
    throw UserError("a matrix of " + std::to_string(matrix.nr_cpus()) +
                    " CPUs does not fit a machine of " + std::to_string(topology.nr_cpus()));
  std::vector<Time> found;
  for (CpuId row = 0; row < matrix.nr_cpus(); ++row)
    for (CpuId column = 0; column < matrix.nr_cpus(); ++column) {
      if (!matrix.measured(row, column) || topology.relation(row, column) != relation) continue;
      if (socket != kAnySocket &&
          (topology.socket(row) != socket || topology.socket(column) != socket))
        continue;
      found.push_back(matrix.one_way(row, column));
    }
  std::sort(found.begin(), found.end());
  return found;
}

Time median(const std::vector<Time>& ascending) {
  CHECK(!ascending.empty(), "the median of nothing");
  const std::size_t middle = ascending.size() / 2;
  if (ascending.size() % 2 == 1) return ascending[middle];
  return (ascending[middle - 1] + ascending[middle]) / 2;
}

}  // namespace idlesim::hw
