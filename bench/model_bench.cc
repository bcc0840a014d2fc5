// The model's speed: ipistorm on the EPYC, per variant; the cost of a call on machines of 8 to 512
// CPUs; memory and start-up. Prints a table, and with --json the same as JSON.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "idlesim/config/json_writer.h"
#include "idlesim/experiment/run.h"

namespace {

using idlesim::experiment::Override;
namespace experiment = idlesim::experiment;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct Row {
  std::string name;
  int cpus;
  double simulated_per_host;
  double host_ns_per_call;
  double events_per_call;
};

Row measure(const experiment::Variant& variant, const std::string& name, int repeats) {
  Row row{name, idlesim::hw::Topology(variant.machine.topology).nr_cpus(), 0, 1e18, 0};
  for (int i = 0; i < repeats; ++i) {
    const double start = cpu_seconds();
    const experiment::RunOutcome outcome = experiment::run_once(variant, 1, 0);
    const double host = cpu_seconds() - start;
    const auto calls = static_cast<double>(outcome.measurement.calls);
    // The fastest of the repeats: disturbances only slow down.
    row.simulated_per_host =
        std::max(row.simulated_per_host, outcome.simulated.as_ns() * 1e-9 / host);
    row.host_ns_per_call = std::min(row.host_ns_per_call, host * 1e9 / calls);
    row.events_per_call = static_cast<double>(outcome.events) / calls;
  }
  return row;
}

std::vector<Override> machine_of(const std::string& clusters, const std::string& cores,
                                 const std::string& sockets, const std::string& target) {
  return {{"machine.topology.sockets", sockets},
          {"machine.topology.clusters_per_node", clusters},
          {"machine.topology.cores_per_cluster", cores},
          {"workload.parameters.cpulist", "[0]"},
          {"workload.parameters.offset", target}};
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::strcmp(argv[1], "--json") == 0;
  const experiment::ConfigPaths paths = experiment::find_config_paths();
  const double start = cpu_seconds();
  const experiment::Scenario scenario = experiment::load_scenario(paths, "ipistorm-epyc-milan", {});
  const double load_ms = (cpu_seconds() - start) * 1e3;

  std::vector<Row> rows;
  for (const experiment::Variant& variant : scenario.variants)
    rows.push_back(measure(variant, variant.name, 3));
  // Sender and target are in neighbouring clusters of one socket each time.
  struct Size {
    const char* clusters;
    const char* cores;
    const char* sockets;
    const char* target;
  };
  for (const Size& size : {Size{"2", "2", "1", "2"}, {"8", "8", "2", "8"}, {"8", "8", "4", "8"}}) {
    const experiment::Scenario sized =
        experiment::load_scenario(paths, "ipistorm-epyc-milan",
                                  machine_of(size.clusters, size.cores, size.sockets, size.target));
    rows.push_back(measure(sized.variants.front(), "baseline, neighbouring clusters", 3));
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double rss_mib = static_cast<double>(usage.ru_maxrss) / 1024;

  if (json) {
    idlesim::config::JsonWriter out;
    out.begin_object().key("rows").begin_array();
    for (const Row& row : rows)
      out.begin_object(idlesim::config::JsonWriter::Layout::kOneLine)
          .member("name", row.name)
          .member("cpus", row.cpus)
          .member("simulated_per_host", row.simulated_per_host)
          .member("host_ns_per_call", row.host_ns_per_call)
          .member("events_per_call", row.events_per_call)
          .end_object();
    out.end_array().member("load_ms", load_ms).member("max_rss_mib", rss_mib).end_object();
    std::fputs(out.take().c_str(), stdout);
    return 0;
  }
  fmt::print("{:34} {:>5} {:>15} {:>13} {:>12}\n", "ipistorm", "CPUs", "simulated/host",
             "host ns/call", "events/call");
  for (const Row& row : rows)
    fmt::print("{:34} {:>5} {:>15.2f} {:>13.0f} {:>12.1f}\n", row.name, row.cpus,
               row.simulated_per_host, row.host_ns_per_call, row.events_per_call);
  fmt::print("reading the scenario: {:.1f} ms; largest memory of all the above: {:.0f} MiB\n",
             load_ms, rss_mib);
  return 0;
}
