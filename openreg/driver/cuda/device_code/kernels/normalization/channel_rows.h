// The numbers of one channel of a batch of images, on a GPU: one row of them all, wherever they lie.
#pragma once

#include "kernels/launch/dtype.h"

namespace openreg::kernels {

template <class C>
class ChannelRows {
 public:
  /// Numbers of a channel.
  struct Row {
    C* first;
    int64_t positions;
    int64_t next; ///< From one image's to the next one's.

    C& operator[](int64_t i) const { return first[i / positions * next + i % positions]; }
  };

  /// @param array batch × channels × positions numbers.
  template <class Args>
  ChannelRows(const Args& args, void* array)
      : array_(static_cast<C*>(array)), batch_(args.batch), channels_(args.channels), positions_(args.positions) {}

  int64_t rows() const { return 1; }
  int64_t length() const { return batch_ * positions_; }
  Row row(int64_t /*n*/, int64_t channel) const {
    return {array_ + channel * positions_, positions_, channels_ * positions_};
  }

  void load(int64_t /*channel*/) const {}
  void store(int64_t /*channel*/) const {}

 private:
  C* array_;
  int64_t batch_;
  int64_t channels_;
  int64_t positions_;
};

} // namespace openreg::kernels
