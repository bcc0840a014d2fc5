#include "idlesim/hw/machine.h"

#include <gtest/gtest.h>

#include "support/machine_under_test.h"

namespace idlesim::testing {
namespace {

// Neighbours that tell the same share a line; CPUs without a context are left out.
TEST(Stories, EqualNeighboursShareALine) {
  MachineUnderTest m(flat_spec(6));
  hw::Word& word = m.word();
  for (const CpuId cpu : {0, 1, 2, 4}) m.run_on(cpu, Time{}, {spin_until_set(word, Time::ns(10))});
  m.run_on(5, Time{}, {halt(hw::HaltKind::kWfi, Time{}, Time{})});
  m.run();
  const auto story = [&m](CpuId cpu) { return m.machine.cpu(cpu).story(); };
  EXPECT_EQ(m.machine.stories(),
            "  CPUs 0-2: " + story(0) + "\n  CPU 4: " + story(4) + "\n  CPU 5: " + story(5) + "\n");
}

}  // namespace
}  // namespace idlesim::testing
