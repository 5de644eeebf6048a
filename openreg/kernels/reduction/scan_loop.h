// The loop of kernels that go along one dimension and keep what they have so far.
#pragma once

#include <algorithm>

#include "kernels/loop/block.h"
#include "kernels/loop/element.h"
#include "kernels/reduction/scan.h"
#include "openreg_kernel.h"

namespace openreg::kernels {

/// Scans that lie side by side are done together, so that memory is read in order.
constexpr int64_t kMaxWidth = 64;

/// A kernel out of what a scan keeps.
template <class S, class C>
class ScanKernel {
 public:
  static void run(const void* bytes, orKernelContext* context) {
    ScanKernel kernel(*static_cast<const ScanArgs*>(bytes));
    const int64_t tiles = kernel.args_.outer * kernel.tilesInside_;
    const int64_t work = std::max(int64_t{1}, kernel.args_.size * kernel.width_);
    context->parallelFor(
        context, tiles, std::max(int64_t{1}, kGrain / work),
        [](void* state, int64_t begin, int64_t end) {
          for (int64_t tile = begin; tile < end; ++tile) {
            static_cast<const ScanKernel*>(state)->scanTile(tile);
          }
        },
        &kernel);
  }

 private:
  using State = S::State;
  static constexpr bool kHasIndex = requires(State state) { S::index(state); };

  explicit ScanKernel(const ScanArgs& args)
      : args_(args), width_(std::min(kMaxWidth, args.inner)), tilesInside_((args.inner + width_ - 1) / width_),
        inputSize_(elementSize(args.inputType)), valueSize_(elementSize(args.valueType)) {}

  void scanTile(int64_t tile) const {
    const int64_t first = tile % tilesInside_ * width_;
    const int64_t at = tile / tilesInside_ * args_.size * args_.inner + first;
    if (args_.inner == 1) {
      scanRow(at);
    } else {
      scanRows(at, std::min(width_, args_.inner - first));
    }
  }

  /// One scan of elements that lie one after the other.
  void scanRow(int64_t at) const {
    C block[kBlock];
    int64_t indices[kBlock];
    State state = S::start();
    for (int64_t done = 0; done < args_.size; done += kBlock) {
      const int64_t count = std::min(kBlock, args_.size - done);
      load(at + done, count, block);
      for (int64_t i = 0; i < count; ++i) {
        keep(state, block[i], done + i, block[i], indices[i]);
      }
      store(at + done, count, block, indices);
    }
  }

  /// Several scans side by side.
  void scanRows(int64_t at, int64_t count) const {
    C row[kMaxWidth];
    int64_t indices[kMaxWidth];
    State states[kMaxWidth];
    std::fill_n(states, count, S::start());
    for (int64_t i = 0; i < args_.size; ++i, at += args_.inner) {
      load(at, count, row);
      for (int64_t k = 0; k < count; ++k) {
        keep(states[k], row[k], i, row[k], indices[k]);
      }
      store(at, count, row, indices);
    }
  }

  static void keep(State& state, C x, int64_t i, C& value, int64_t& index) {
    state = S::step(state, x, i);
    value = S::value(state);
    if constexpr (kHasIndex) {
      index = S::index(state);
    }
  }

  void load(int64_t at, int64_t count, C* to) const {
    const auto* from = static_cast<const char*>(args_.input) + at * inputSize_;
    kernels::load(args_.inputType, from, inputSize_, count, to);
  }
  void store(int64_t at, int64_t count, const C* values, const int64_t* indices) const {
    kernels::store(args_.valueType, static_cast<char*>(args_.values) + at * valueSize_, valueSize_, count, values);
    if constexpr (kHasIndex) {
      std::copy_n(indices, count, static_cast<int64_t*>(args_.indices) + at);
    }
  }

  const ScanArgs& args_;
  int64_t width_;       ///< Scans that are done together.
  int64_t tilesInside_; ///< Groups of that many scans within `inner`.
  int64_t inputSize_;
  int64_t valueSize_;
};

} // namespace openreg::kernels
