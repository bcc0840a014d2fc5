// What stands between a guest's CPU and the hardware. Bare metal has no platform: privileged
// instructions do what the manual says. A guest's CPU asks its platform whether an instruction
// makes it exit; if so it stands still until its host has dealt with it.
#ifndef IDLESIM_HW_PLATFORM_H_
#define IDLESIM_HW_PLATFORM_H_

#include <cstdint>

#include "idlesim/base/types.h"
#include "idlesim/hw/interrupt.h"

namespace idlesim::hw {

class Cpu;

// Why a guest's CPU has stopped.
enum class Exit : std::uint8_t {
  kInterrupt,   // the physical CPU has an interrupt
  kTimer,       // the guest's own timer has expired while it ran
  kHlt,         // HLT, WFI
  kWfe,         // WFE, WFET
  kIpi,         // ICR write, SGI1R write; argument: see ipi_argument()
  kTimerWrite,  // TSC deadline, CNTV_CVAL
};
inline constexpr int kExits = 6;

constexpr const char* to_string(Exit exit) {
  switch (exit) {
    case Exit::kInterrupt:
      return "interrupt";
    case Exit::kTimer:
      return "timer";
    case Exit::kHlt:
      return "halt";
    case Exit::kWfe:
      return "wfe";
    case Exit::kIpi:
      return "ipi";
    case Exit::kTimerWrite:
      return "timer_write";
  }
  return "?";
}

struct ExitInfo {
  Exit reason = Exit::kInterrupt;
  std::uint64_t argument = 0;
};

constexpr std::uint64_t ipi_argument(CpuId to, Vector vector) {
  return static_cast<std::uint64_t>(to) << 8 | static_cast<std::uint64_t>(vector);
}
constexpr CpuId ipi_target(std::uint64_t argument) { return static_cast<CpuId>(argument >> 8); }
constexpr Vector ipi_vector(std::uint64_t argument) { return static_cast<Vector>(argument & 0xff); }

class Platform {
 public:
  // Does this instruction make the guest's CPU exit, as things are now?
  virtual bool traps(const Cpu& guest, Exit reason) const = 0;
  // An IPI that did not exit has been sent: the hardware delivers it.
  virtual void post_ipi(Cpu& from, CpuId to, Vector vector) = 0;
  // The timer of a guest's CPU has expired; a CPU that executes stops for it.
  virtual void timer_expired(Cpu& guest) = 0;

 protected:
  ~Platform() = default;
};

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_PLATFORM_H_
