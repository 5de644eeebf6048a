// Device memory through which the blocks of a launch tell each other what they have.
#pragma once

#include <mutex>
#include <unordered_map>
#include <vector>

#include "library.h"

namespace openreg::cuda {

/// The Scratch (services.h) of each stream of a device: launches on a stream run one after the other, so one is enough
/// for them all. All functions can be called by several threads, and block for nothing but each other.
class Scratches {
 public:
  /// A stream's, for its next launch. The device's context is the thread's.
  CUdeviceptr of(CUstream stream);

  /// Takes back that of a stream which is about to be destroyed: the next one waits for the work that uses it.
  void release(CUstream stream);

  /// Forgets all of them, as their context has gone.
  void forget();

 private:
  struct Slot {
    CUdeviceptr memory = 0;
    CUevent lastUse = nullptr; ///< Of the stream before; none if there was none.
  };

  std::mutex mutex_; ///< Guards what follows.
  std::unordered_map<CUstream, Slot> used_;
  std::vector<Slot> unused_;
};

} // namespace openreg::cuda
