// Graphs that are launched as one piece of work.
#pragma once

#include <memory>
#include <vector>

#include "common/graph/graph.h"
#include "sim/stream/command.h"

namespace openreg::sim {

/// What is launched: a list is all that a worker needs.
struct Program {
  GraphNodes nodes;
};

/// Runs a graph's nodes in the order of their submission, in which each comes after those it depends on. A device with
/// several engines would run together what may be.
class GraphCommand final : public Command {
 public:
  /// @param held What keeps the host memory of its copies.
  GraphCommand(std::shared_ptr<const Program> program, std::vector<std::shared_ptr<const void>> held)
      : program_(std::move(program)), held_(std::move(held)) {}
  void run(Stream& stream) override;

 private:
  std::shared_ptr<const Program> program_;
  std::vector<std::shared_ptr<const void>> held_;
};

} // namespace openreg::sim
