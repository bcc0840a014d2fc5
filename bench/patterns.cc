#include "patterns.h"

#include "idlesim/sim/random.h"

namespace idlesim::bench {

Delays::Delays(const std::string& kind) {
  sim::Random random(1, 0, "bench." + kind, 0);
  for (std::size_t i = 0; i <= kMask; ++i) {
    Time delay;
    if (kind == "exp")
      delay = random.exponential(Time::us(1));
    else if (random.below(10) != 0)
      delay = random.uniform(Time::ns(20), Time::ns(200));
    else
      delay = random.uniform(Time::us(10), Time::ms(1));
    ps_.push_back(static_cast<std::uint32_t>(delay.count_ps()));
  }
}

}  // namespace idlesim::bench
