#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>

#include "idlesim/base/check.h"
#include "idlesim/base/cpumask.h"
#include "idlesim/hw/csv.h"
#include "idlesim/hw/topology_import.h"

namespace idlesim::hw {

namespace {

constexpr int kMaxCpus = 65536;  // beyond any Linux machine; bounds what a broken file may ask for

struct Field {
  std::string value;
  int line = 0;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The "Key:   value" lines from "Architecture:" to the first line of another form.
std::map<std::string, Field> lscpu_fields(const std::string& path) {
  const std::vector<std::string> lines = read_lines(path);
  std::map<std::string, Field> fields;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = trimmed(lines[i]);
    if (fields.empty() && !line.starts_with("Architecture:")) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) break;
    fields.emplace(line.substr(0, colon),
                   Field{std::string(trimmed(line.substr(colon + 1))), static_cast<int>(i) + 1});
  }
  if (fields.empty()) input_error(path, 1, "no lscpu output (no line \"Architecture:\")");
  return fields;
}

// "0-3,8" -> 0 1 2 3 8; Linux writes such lists in ascending order.
std::vector<CpuId> parse_cpu_list(std::string_view list, int nr_cpus, const std::string& path,
                                  int line) {
  std::vector<CpuId> cpus;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(','));
    const std::size_t dash = part.find('-');
    const int first = parse_count(part.substr(0, dash), path, line);
    const int last =
        dash == std::string_view::npos ? first : parse_count(part.substr(dash + 1), path, line);
    if (first > last || last >= nr_cpus || (!cpus.empty() && first <= cpus.back()))
      input_error(path, line,
                  "\"" + std::string(part) + "\" is no ascending range of CPUs below " +
                      std::to_string(nr_cpus));
    for (CpuId cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    list.remove_prefix(std::min(part.size() + 1, list.size()));
  }
  return cpus;
}

}  // namespace

LscpuInfo read_lscpu(const std::string& path) {
  const std::map<std::string, Field> fields = lscpu_fields(path);
  const auto field = [&](const std::string& key) -> const Field& {
    const auto found = fields.find(key);
    if (found == fields.end()) input_error(path, 1, "lscpu output without \"" + key + "\"");
    return found->second;
  };
  const auto count = [&](const std::string& key) {
    return parse_count(field(key).value, path, field(key).line);
  };
  const auto frequency = [&](const Field& f) {
    return Frequency::khz(parse_thousandths(f.value, path, f.line));  // MHz with decimals
  };
  LscpuInfo info;
  info.architecture = field("Architecture").value;
  info.model_name = field("Model name").value;
  info.vendor = field("Vendor ID").value;
  info.cpus = count("CPU(s)");
  if (info.cpus > kMaxCpus)
    input_error(path, field("CPU(s)").line, "more CPUs than Linux can have");
  info.threads_per_core = count("Thread(s) per core");
  info.cores_per_socket = count("Core(s) per socket");
  info.sockets = count("Socket(s)");
  for (int node = 0;; ++node) {
    const auto found = fields.find("NUMA node" + std::to_string(node) + " CPU(s)");
    if (found == fields.end()) break;
    info.node_cpus.push_back(
        parse_cpu_list(found->second.value, info.cpus, path, found->second.line));
  }
  if (const auto max = fields.find("CPU max MHz"); max != fields.end())
    info.max_clock = frequency(max->second);
  info.bogomips = frequency(field("BogoMIPS"));
  return info;
}

ImportedTopology topology_of(const LscpuInfo& info, const std::string& path) {
  const std::int64_t cores = std::int64_t{info.sockets} * info.cores_per_socket;
  if (cores <= 0 || cores > kMaxCpus || info.threads_per_core <= 0 ||
      cores * info.threads_per_core != info.cpus)
    throw UserError(path + ": sockets x cores x threads are not the number of CPUs");
  const int nodes = std::max(1, static_cast<int>(info.node_cpus.size()));
  if (nodes > info.sockets && (nodes % info.sockets != 0 || cores % nodes != 0))
    throw UserError(path + ": " + std::to_string(nodes) + " NUMA nodes do not divide " +
                    std::to_string(info.sockets) + " sockets evenly");
  ImportedTopology imported;
  imported.spec.sockets = info.sockets;
  imported.spec.nodes_per_socket = std::max(1, nodes / info.sockets);
  imported.spec.cores_per_cluster =
      static_cast<int>(cores) / (info.sockets * imported.spec.nodes_per_socket);
  imported.spec.threads_per_core = info.threads_per_core;
  const auto matches = [&](Numbering numbering) {
    imported.spec.numbering = numbering;
    const Topology topology(imported.spec);
    if (topology.nr_nodes() != nodes) return false;
    for (NodeId node = 0; node < nodes && !info.node_cpus.empty(); ++node) {
      CpuMask listed(info.cpus);
      for (CpuId cpu : info.node_cpus[static_cast<std::size_t>(node)]) listed.set(cpu);
      if (!(listed == topology.cpus_of_node(node))) return false;
    }
    return true;
  };
  imported.numbering_known = matches(Numbering::kBlock) || matches(Numbering::kRoundRobin);
  if (!imported.numbering_known) imported.spec.numbering = Numbering::kBlock;
  const Topology topology(imported.spec);
  for (CpuId cpu = 0; cpu < info.cpus; ++cpu)
    imported.cpus.push_back({cpu, topology.socket(cpu), topology.node(cpu), topology.cluster(cpu),
                             topology.core(cpu), topology.thread(cpu)});
  return imported;
}

}  // namespace idlesim::hw
