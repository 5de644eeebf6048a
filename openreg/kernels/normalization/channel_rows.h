// The numbers of one channel of a batch of images.
#pragma once

#include <vector>

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

/// The numbers of one channel after the other, as rows: where they are, or, if those would be short, gathered in one
/// row.
template <class C>
class ChannelRows {
 public:
  /// @param array batch × channels × positions numbers.
  template <class Args>
  ChannelRows(const Args& args, void* array)
      : array_(static_cast<C*>(array)), batch_(args.batch), channels_(args.channels), positions_(args.positions),
        gathered_(static_cast<size_t>(positions_ < kShort ? batch_ * positions_ : 0)) {}

  int64_t rows() const { return gathers() ? 1 : batch_; }
  int64_t length() const { return gathers() ? batch_ * positions_ : positions_; }
  C* row(int64_t n, int64_t channel) { return gathers() ? gathered_.data() : start(n, channel); }

  /// To be called before a channel's rows are read,
  void load(int64_t channel) {
    move([&](int64_t i, int64_t n, int64_t position) { gathered_[size_t(i)] = start(n, channel)[position]; });
  }
  /// and after they have been written.
  void store(int64_t channel) {
    move([&](int64_t i, int64_t n, int64_t position) { start(n, channel)[position] = gathered_[size_t(i)]; });
  }

 private:
  static constexpr int64_t kShort = 16;

  bool gathers() const { return positions_ < kShort; }
  C* start(int64_t n, int64_t channel) const { return array_ + (n * channels_ + channel) * positions_; }

  template <class Move>
  void move(Move one) {
    for (int64_t n = 0, i = 0; gathers() && n < batch_; ++n) {
      for (int64_t position = 0; position < positions_; ++position, ++i) {
        one(i, n, position);
      }
    }
  }

  C* array_;
  int64_t batch_;
  int64_t channels_;
  int64_t positions_;
  std::vector<C> gathered_;
};

} // namespace openreg::kernels
