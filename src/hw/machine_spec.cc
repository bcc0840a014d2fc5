#include "idlesim/hw/machine_spec.h"

#include <string_view>

#include "idlesim/config/reader.h"

namespace idlesim::hw {

namespace {

constexpr std::string_view kArchs[] = {"x86_64", "arm64"};
constexpr std::string_view kVendors[] = {"amd", "intel", "arm"};
constexpr std::string_view kOrigins[] = {"measured", "derived", "documented", "assumed", "fitted"};
constexpr std::string_view kNumberings[] = {"block", "round_robin", "adjacent"};
constexpr std::string_view kProtocols[] = {"mesi", "mesif", "moesi"};
constexpr std::string_view kAtomics[] = {"near", "far_unless_unique", "far", "ll_sc"};
constexpr std::string_view kControllers[] = {"x2apic", "gicv3"};
constexpr std::string_view kEnters[] = {"mwait", "hlt", "io", "wfi"};
constexpr std::string_view kFlags[] = {"tlb_flushed", "ibrs"};

template <class Enum>
Enum pick(const std::string& word, std::span<const std::string_view> words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return static_cast<Enum>(i);
  return Enum{};
}

// A machine that does not fit Linux's NR_CPUS of 8192 is a typing error.
constexpr std::int64_t kMostCpus = 8192;

TopologySpec read_topology(config::Reader in) {
  TopologySpec spec;
  spec.sockets = static_cast<int>(in.integer("sockets", 1, 64));
  spec.nodes_per_socket = static_cast<int>(in.integer("nodes_per_socket", 1, 16));
  spec.clusters_per_node = static_cast<int>(in.integer("clusters_per_node", 1, 256));
  spec.cores_per_cluster = static_cast<int>(in.integer("cores_per_cluster", 1, 512));
  spec.threads_per_core = static_cast<int>(in.integer("threads_per_core", 1, 8));
  spec.numbering = pick<Numbering>(in.enumeration("numbering", kNumberings), kNumberings);
  in.string("source");
  in.enumeration("origin", kOrigins);
  // `scale` repeats the sockets: a larger machine that does not exist.
  const auto scale = static_cast<int>(in.integer_or("scale", 1, 64, 1));
  spec.sockets *= scale;
  const std::int64_t cpus = std::int64_t{spec.sockets} * spec.nodes_per_socket *
                            spec.clusters_per_node * spec.cores_per_cluster * spec.threads_per_core;
  if (cpus > kMostCpus) {
    in.fail("the machine has " + std::to_string(cpus) + " CPUs; at most " +
            std::to_string(kMostCpus) + " are allowed");
    return {};
  }
  return spec;
}

// Durations in cycles are cycles of the core clock.
class CycleReader {
 public:
  explicit CycleReader(Frequency clock) : clock_(clock) {}
  Time operator()(config::Reader& in, std::string_view key) const {
    return clock_.milli_to_time(in.parameter_milli(key, 0, 1'000'000'000));
  }

 private:
  Frequency clock_;
};

void read_core(config::Reader in, const CycleReader& cycles, CpuSpec& cpu) {
  cpu.kernel_ipc_milli = in.parameter_milli("kernel_ipc", 100, 10'000);
  cpu.atomic = cycles(in, "atomic_cycles");
  cpu.barrier = cycles(in, "barrier_cycles");
  cpu.pause = cycles(in, "pause_cycles");
  cpu.privileged = cycles(in, "privileged_cycles");
  cpu.mispredict = cycles(in, "mispredict_cycles");
  cpu.store_buffer_entries =
      static_cast<int>(in.parameter_integer("store_buffer_entries", 1, 1024));
  cpu.smt_share_running_permille =
      static_cast<int>(in.parameter_milli("smt_share_running", 1000, 100'000) / 100);
  cpu.smt_share_pause_permille =
      static_cast<int>(in.parameter_milli("smt_share_pause", 1000, 100'000) / 100);
}

Legs read_legs(config::Reader in) {
  return {in.parameter_time("request_ns"), in.parameter_time("snoop_ns"),
          in.parameter_time("data_ns")};
}

CoherenceSpec read_coherence(config::Reader in, const CycleReader& cycles) {
  CoherenceSpec spec;
  spec.protocol = pick<Protocol>(in.enumeration("protocol", kProtocols), kProtocols);
  spec.l1_hit = cycles(in, "l1_hit_cycles");
  spec.sibling_transfer = in.parameter_time("sibling_transfer_ns");
  spec.cluster = read_legs(in.object("cluster"));
  spec.socket = read_legs(in.object("socket"));
  spec.remote = read_legs(in.object("remote"));
  spec.directory = in.parameter_time("directory_ns");
  spec.memory = in.parameter_time("memory_ns");
  spec.spread_permille = static_cast<int>(in.parameter_milli("spread_percent", 0, 90'000) / 100);
  spec.atomics = pick<Atomics>(in.enumeration("atomics", kAtomics), kAtomics);
  if (spec.atomics == Atomics::kFarUnlessUnique || spec.atomics == Atomics::kFar)
    spec.far_atomic = in.parameter_time("far_atomic_ns");
  return spec;
}

InterruptSpec read_interrupts(config::Reader in, const CycleReader& cycles, Arch arch) {
  InterruptSpec spec;
  in.enumeration("controller", kControllers);
  spec.send = cycles(in, "send_cycles");
  spec.delivery_sibling = in.parameter_time("delivery_sibling_ns");
  spec.delivery_socket = in.parameter_time("delivery_socket_ns");
  spec.delivery_remote = in.parameter_time("delivery_remote_ns");
  spec.entry = cycles(in, "entry_cycles");
  spec.exit = cycles(in, "exit_cycles");
  spec.eoi = cycles(in, "eoi_cycles");
  spec.ack = cycles(in, "ack_cycles");
  if (arch == Arch::kArm64) {
    spec.split_eoi = in.parameter_integer("eoi_mode", 0, 1) == 1;
    spec.deactivate = cycles(in, "deactivate_cycles");
    spec.sgi_targets = static_cast<int>(in.parameter_integer("sgi_targets", 1, 16));
  }
  return spec;
}

IdleStateSpec read_idle_state(config::Reader in) {
  IdleStateSpec state;
  state.name = in.string("name");
  state.enter = pick<EnterMethod>(in.enumeration("enter", kEnters), kEnters);
  state.irq_enable = in.boolean_or("irq_enable", false);
  state.exit_latency = in.parameter_time("exit_latency_us");
  state.target_residency = in.parameter_time("target_residency_us");
  state.timing.entry = in.parameter_time("entry_ns");
  state.timing.exit = in.parameter_time("exit_ns");
  for (config::Reader& flag : in.optional_array("flags")) {
    const std::string name = flag.as_enumeration(kFlags);
    state.tlb_flushed = state.tlb_flushed || name == "tlb_flushed";
    state.ibrs = state.ibrs || name == "ibrs";
  }
  return state;
}

}  // namespace

MachineSpec read_machine_spec(config::Reader in) {
  MachineSpec spec;
  in.integer("schema_version", 1, 1);
  spec.name = in.string("name");
  spec.description = in.string("description");
  spec.cpu.arch = pick<Arch>(in.enumeration("arch", kArchs), kArchs);
  spec.cpu.vendor = pick<Vendor>(in.enumeration("vendor", kVendors), kVendors);
  spec.topology = read_topology(in.object("topology"));
  config::Reader clock = in.object("clock");
  spec.cpu.clock = clock.parameter_frequency("core_mhz");
  spec.cpu.tsc = clock.parameter_frequency("tsc_mhz");
  const CycleReader cycles(spec.cpu.clock);
  read_core(in.object("core"), cycles, spec.cpu);
  spec.coherence = read_coherence(in.object("coherence"), cycles);
  const bool arm64 = spec.cpu.arch == Arch::kArm64;
  spec.interrupt = read_interrupts(in.object("interrupts"), cycles, spec.cpu.arch);
  config::Reader timer = in.object("timer");
  spec.timer_program = cycles(timer, "program_cycles");
  if (arm64) {
    spec.cpu.ecv = timer.parameter_integer("ecv", 0, 1) == 1;
    spec.cpu.wfxt = timer.parameter_integer("wfxt", 0, 1) == 1;
  }
  if (auto msr = in.optional_object("msr"))
    spec.spec_ctrl_write = cycles(*msr, "spec_ctrl_write_cycles");
  config::Reader idle = in.object("idle");
  if (arm64) {
    spec.cpu.wfe = {idle.parameter_time("wfe_entry_ns"), idle.parameter_time("wfe_exit_ns")};
  } else {
    spec.monitor = cycles(idle, "monitor_cycles");
    spec.hlt_exit = idle.parameter_time("hlt_exit_ns");
  }
  for (config::Reader& state : idle.array("states")) {
    spec.idle_states.push_back(read_idle_state(state));
    spec.idle_states.back().timing.depth = static_cast<int>(spec.idle_states.size());
  }
  if (spec.idle_states.empty()) idle.fail("states", "a machine has at least one idle state");
  return spec;
}

}  // namespace idlesim::hw
