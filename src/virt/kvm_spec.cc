#include "idlesim/virt/kvm_spec.h"

#include <array>
#include <string_view>

#include "idlesim/config/reader.h"
#include "idlesim/kernel/kernel_spec.h"

namespace idlesim::virt {

namespace {

constexpr std::array<std::string_view, 1> kTypes = {"kvm"};
constexpr std::array<std::string_view, 2> kArchs = {"x86_64", "arm64"};
constexpr std::array<std::string_view, 3> kPolicies = {"single_task", "trap", "notrap"};
constexpr std::array<std::string_view, 2> kRoads = {"exit", "fastpath"};

template <typename Enum, std::size_t N>
Enum pick(const std::string& word, const std::array<std::string_view, N>& words) {
  for (std::size_t i = 0; i < N; ++i)
    if (words[i] == word) return static_cast<Enum>(i);
  return static_cast<Enum>(0);
}

KvmCode read_code(config::Reader in) {
  const auto count = [&in](const char* key) { return in.parameter_integer(key, 0, 1'000'000); };
  KvmCode code;
  code.run_loop = count("run_loop");
  code.load = count("load");
  code.put = count("put");
  code.halt = count("halt");
  code.halt_poll = count("halt_poll");
  code.block = count("block");
  code.ipi = count("ipi");
  code.ipi_search = count("ipi_search");
  code.inject = count("inject");
  code.kick = count("kick");
  code.wfe = count("wfe");
  code.timer = count("timer");
  code.timer_write = count("timer_write");
  return code;
}

}  // namespace

KvmSpec read_kvm_spec(config::Reader in) {
  KvmSpec spec;
  in.integer("schema_version", 1, 1);
  in.enumeration("type", kTypes);
  spec.name = in.string("name");
  spec.description = in.string("description");
  spec.arch = pick<hw::Arch>(in.enumeration("arch", kArchs), kArchs);
  for (const std::int64_t cpu : in.integers("vcpu_affinity", 0, 65535))
    spec.placement.push_back(static_cast<CpuId>(cpu));
  if (spec.placement.empty()) in.fail("vcpu_affinity", "a guest has at least one vCPU");
  spec.host_kernel = in.string("host_kernel");
  kernel::read_features(in.object("host_features"), spec.host_features);
  spec.wfi_trap = pick<TrapPolicy>(in.enumeration("wfi_trap_policy", kPolicies), kPolicies);
  spec.wfe_trap = pick<TrapPolicy>(in.enumeration("wfe_trap_policy", kPolicies), kPolicies);
  spec.ipi = pick<IpiRoad>(in.enumeration("ipi", kRoads), kRoads);
  spec.posted_interrupts = in.boolean("posted_interrupts");
  spec.timer_traps = in.boolean("timer_traps");
  spec.linear_target_search = in.boolean("linear_target_search");
  spec.halt_poll_max = in.time("halt_poll_ns");
  spec.halt_poll_grow_start = in.time("halt_poll_ns_grow_start_ns");
  spec.halt_poll_grow = in.integer("halt_poll_ns_grow", 0, 1000);
  spec.halt_poll_shrink = in.integer("halt_poll_ns_shrink", 0, 1000);
  spec.exit = in.parameter_time("exit_ns");
  spec.entry = in.parameter_time("entry_ns");
  spec.code = read_code(in.object("instructions"));
  spec.noise_per_second = in.parameter_integer("noise_per_second", 0, 1'000'000);
  spec.noise_duration = in.parameter_time("noise_duration_us");
  return spec;
}

hw::MachineSpec guest_machine_spec(const hw::MachineSpec& physical, const KvmSpec& spec) {
  hw::MachineSpec guest = physical;
  guest.topology = {};
  guest.topology.cores_per_cluster = static_cast<int>(spec.placement.size());
  if (guest.idle_states.size() > 1) guest.idle_states.resize(1);
  return guest;
}

}  // namespace idlesim::virt
