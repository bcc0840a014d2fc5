#include "idlesim/hw/ping_pong.h"

#include <algorithm>

#include "idlesim/base/check.h"
#include "idlesim/hw/machine.h"

namespace idlesim::hw {

namespace {

struct Player {
  Cpu* cpu;
  Word* word;
  std::uint64_t mine;
  std::uint64_t others;
  int rounds;
  sim::Root root;
  Time ended;
};

sim::Co<> play(Player& player) {
  Player& self = player;
  for (int i = 0; i < self.rounds; ++i) {
    Word& word = *self.word;
    while (co_await self.cpu->atomic(AtomicOp::kCmpxchg, word, self.mine, self.others) !=
           self.others) {
    }
  }
  self.ended = self.cpu->now();
}

void player_ended(void*) {}

void start_player(void* player) {
  Player& self = *static_cast<Player*>(player);
  self.root.start(play(self), player_ended, player);
}

// The legs of `relation` at `permille` of what they are.
MachineSpec scaled(const MachineSpec& spec, Relation relation, std::int64_t permille) {
  MachineSpec result = spec;
  const auto scale = [permille](Time& leg) { leg = leg * permille / 1000; };
  CoherenceSpec& coherence = result.coherence;
  switch (relation) {
    case Relation::kSelf:
      break;
    case Relation::kSibling:
      scale(coherence.sibling_transfer);
      break;
    case Relation::kCluster:
      scale(coherence.cluster.snoop);
      scale(coherence.cluster.data);
      break;
    case Relation::kSocket:
      scale(coherence.socket.snoop);
      scale(coherence.socket.data);
      break;
    case Relation::kRemote:
      scale(coherence.remote.snoop);
      scale(coherence.remote.data);
      break;
  }
  return result;
}

// When both players have made `rounds` rounds.
Time play_rounds(const MachineSpec& spec, CpuId a, CpuId b, NodeId home, int rounds) {
  Machine machine(spec, 1, 0);
  Word word(machine.new_line(machine.line_name("PING"), home), 0);
  Player players[2] = {{&machine.cpu(a), &word, 1, 0, rounds, {}, {}},
                       {&machine.cpu(b), &word, 0, 1, rounds, {}, {}}};
  for (Player& player : players) player.cpu->boot(Time{}, start_player, &player);
  machine.run();
  return std::max(players[0].ended, players[1].ended);
}

}  // namespace

Time compare_exchange_one_way(const MachineSpec& spec, CpuId a, CpuId b, NodeId home, int rounds) {
  CHECK(a != b && rounds > 0, "two threads and at least one round");
  constexpr int kWarmUp = 8;  // the line starts in memory
  MachineSpec exact = spec;
  exact.coherence.spread_permille = 0;
  const Time all = play_rounds(exact, a, b, home, rounds + kWarmUp);
  return (all - play_rounds(exact, a, b, home, kWarmUp)) / (2 * rounds);
}

PingPongPair pair_of(const Topology& topology, Relation relation) {
  for (CpuId b = 0; b < topology.nr_cpus(); ++b)
    if (topology.relation(0, b) == relation) return {0, b};
  throw UserError("the machine has no two CPUs in the relation \"" + to_string(relation) + "\"");
}

MachineSpec solve_legs(const MachineSpec& spec, Relation relation, Time measured) {
  constexpr int kRounds = 64;
  const Topology topology(spec.topology);
  const PingPongPair pair = pair_of(topology, relation);
  const NodeId home = topology.node(pair.a);
  std::int64_t low = 0;
  std::int64_t high = 1'000'000;  // a thousand times what the file says
  const auto one_way = [&](std::int64_t permille) {
    return compare_exchange_one_way(scaled(spec, relation, permille), pair.a, pair.b, home,
                                    kRounds);
  };
  if (one_way(low) > measured || one_way(high) < measured)
    throw UserError("no legs of the relation \"" + to_string(relation) + "\" give " +
                    std::to_string(measured.count_ps()) + " ps one way");
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (one_way(middle) <= measured ? low : high) = middle;
  }
  return scaled(spec, relation, low);
}

}  // namespace idlesim::hw
