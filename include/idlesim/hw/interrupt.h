// Interrupt vectors, highest priority first, and the controller that carries them between CPUs.
#ifndef IDLESIM_HW_INTERRUPT_H_
#define IDLESIM_HW_INTERRUPT_H_

#include <cstdint>

#include "idlesim/base/types.h"

namespace idlesim::hw {

// x86: RESCHEDULE_VECTOR 0xfd, CALL_FUNCTION 0xfc, CALL_FUNCTION_SINGLE 0xfb, LOCAL_TIMER 0xec: the
// higher vector is taken first. arm64: SGI 0 and 1 (calls share one), and the timer's PPI.
enum class Vector : std::uint8_t {
  kReschedule,
  kCallFunction,
  kCallFunctionSingle,
  kLocalTimer,
};
inline constexpr int kVectors = 4;

constexpr std::uint32_t bit(Vector vector) { return 1u << static_cast<int>(vector); }

constexpr const char* to_string(Vector vector) {
  switch (vector) {
    case Vector::kReschedule:
      return "RESCHEDULE";
    case Vector::kCallFunction:
      return "CALL_FUNCTION";
    case Vector::kCallFunctionSingle:
      return "CALL_FUNCTION_SINGLE";
    case Vector::kLocalTimer:
      return "LOCAL_TIMER";
  }
  return "?";
}

}  // namespace idlesim::hw

#endif  // IDLESIM_HW_INTERRUPT_H_
