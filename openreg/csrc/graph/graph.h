// A graph: work that is captured once and launched as a whole, behind torch.accelerator.Graph.
#pragma once

#include "graph/capture.h"
#include "memory/pool_share.h"

#include <ATen/core/GraphImplInterface.h>

#include <memory>
#include <optional>
#include <string>

namespace openreg {

// LITERALINCLUDE START: GRAPH
/**
 * @brief Implements at::GraphImplInterface for this backend. One thread at a time.
 *
 * It is empty, or capturing, or has captured. What it allocates while it captures comes from a pool of its own, or one
 * that it shares, and stays there as long as it can be replayed.
 */
class Graph final : public at::GraphImplInterface {
 public:
  explicit Graph(const at::GraphImplArgs& args) : keepGraph_(args.keep_graph) {}
  /// Frees what there is. A capture that is under way ends.
  ~Graph() override { clear(); }

  /**
   * @brief Begins to capture the calling thread's current stream of the current device. Does not block.
   * @param pool The pool that it shares with other graphs; {0, 0} stands for one of its own.
   * @param mode Default is Global, as CUDA's.
   * @throws c10::Error if it is not empty; c10::AcceleratorError if the stream captures already.
   */
  void capture_begin(at::MempoolId_t pool, at::GraphCaptureMode mode) override;

  /**
   * @brief Ends the capture; the stream executes again, also where this throws.
   *
   * Where the program is handling an exception that has come up since the capture began, nothing is thrown, and nothing
   * has been captured.
   * @throws c10::AcceleratorError if the capture has become invalid, or a stream that joined it was not joined; then
   *         nothing has been captured. In another thread than the one that began it; then the capture goes on.
   */
  void capture_end() override;

  /** @brief Makes what is launched; replay() does it, where capture_end() has not. @throws c10::Error. */
  void instantiate() override;

  /**
   * @brief Queues all of it on the current stream of its device, which must be current. Does not block.
   *
   * Random numbers are those that the generators have next.
   * @throws c10::Error if nothing was captured, or another device is current, or the device was reset since.
   */
  void replay() override;

  /** @brief Makes it empty. Does not block; launches already queued still run. @throws c10::Error if it is capturing.
   */
  void reset() override;

  /** @brief The name of its pool. @throws c10::Error if it is empty. */
  at::MempoolId_t pool() const override;

  /** @brief From the next capture on, the driver's graph is kept for debug_dump(). */
  void enable_debug_mode() override { debug_ = true; }

  /** @brief Writes the graph as a picture for Graphviz. @throws c10::Error if the driver's graph was not kept. */
  void debug_dump(const std::string& path) override;

 private:
  void checkCaptured(const char* function) const;
  void clear() noexcept;

  const bool keepGraph_;
  bool debug_ = false;
  bool captured_ = false;
  c10::DeviceIndex device_ = -1;
  uint64_t life_ = 0;              // of the device
  const void* handled_ = nullptr;  // the exception that was being handled when the capture began
  std::string abandoned_;          // why the last capture came to nothing
  std::optional<PoolShare> share_; // goes after everything that has memory of the pool
  std::shared_ptr<Captured> collected_;
  std::unique_ptr<Capture> capture_;
  orGraph_t graph_ = nullptr;
  orGraphExec_t exec_ = nullptr;
};
// LITERALINCLUDE END: GRAPH

} // namespace openreg
