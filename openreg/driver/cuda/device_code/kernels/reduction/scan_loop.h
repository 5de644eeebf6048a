// The loop of scans on a GPU: many scans side by side are a thread's each, and else a block of threads does one
// together.
#pragma once

#include "kernels/launch/dtype.h"
#include "kernels/loop/block.h"
#include "kernels/loop/row.h"
#include "kernels/reduction/scan.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// A kernel out of what a scan keeps. Which thread does what depends on sizes alone, so the result does, too.
template <class S, class C>
class ScanKernel {
 public:
  static void run(const void* bytes, orKernelContext* context) {
    const ScanKernel kernel(*static_cast<const ScanArgs*>(bytes));
    const ScanArgs& args = kernel.args_;
    constexpr int64_t kShort = 64;
    constexpr int64_t kManyScans = 4096;
    const int64_t scans = args.outer * args.inner;
    if (args.size < kShort || (args.inner > 1 && scans >= kManyScans)) {
      context->forEach(scans, [&](int64_t scan) { kernel.byThread(scan); });
    } else {
      for (int64_t scan = blockIdx.x; scan < scans; scan += gridDim.x) {
        kernel.byBlock(scan);
      }
    }
  }

 private:
  using State = typename S::State;

  explicit ScanKernel(const ScanArgs& args) : args_(args) {}

  void byThread(int64_t scan) const {
    State state = S::start();
    for (int64_t i = 0; i < args_.size; ++i) {
      state = S::step(state, get(scan, i), i);
      put(scan, i, state);
    }
  }

  void byBlock(int64_t scan) const {
    State before = S::start();
    for (int64_t first = 0; first < args_.size; first += kThreads) {
      const int64_t i = first + threadIdx.x;
      const State mine = i < args_.size ? S::step(S::start(), get(scan, i), i) : S::start();
      const auto joined = joinThreadsBefore(S(), mine);
      if (i < args_.size) {
        put(scan, i, S::join(S::join(before, joined.before), mine));
      }
      before = S::join(before, joined.all);
    }
  }

  int64_t placeOf(int64_t scan, int64_t i) const {
    return (scan / args_.inner * args_.size + i) * args_.inner + scan % args_.inner;
  }
  C get(int64_t scan, int64_t i) const {
    return loadOne<C>(
        args_.inputType, static_cast<const char*>(args_.input) + placeOf(scan, i) * elementSize(args_.inputType));
  }
  void put(int64_t scan, int64_t i, const State& state) const {
    const int64_t at = placeOf(scan, i);
    storeOne<C>(args_.valueType, static_cast<char*>(args_.values) + at * elementSize(args_.valueType), S::value(state));
    if constexpr (requires { S::index(state); }) {
      static_cast<int64_t*>(args_.indices)[at] = S::index(state);
    }
  }

  const ScanArgs& args_;
};

} // namespace openreg::kernels
