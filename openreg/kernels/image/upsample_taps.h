// The neighbours that upsampling makes elements of, found once for all planes.
#pragma once

#include <vector>

#include "kernels/image/upsample_neighbours.h"

namespace openreg::kernels {

/// A neighbour and its share.
template <class C>
struct UpsampleTap {
  int64_t at;
  C weight;
};

/// The neighbours of each element along one dimension.
template <class C>
class UpsampleTaps {
 public:
  UpsampleTaps(const UpsampleArgs& args, int dimension) {
    const UpsampleNeighbours<C> neighbours(args, dimension);
    image_ = neighbours.image();
    result_ = neighbours.result();
    for (int64_t at = 0; at < result_; ++at) {
      first_.push_back(static_cast<int64_t>(taps_.size()));
      neighbours.forEach(at, [&](int64_t neighbour, C weight) { taps_.push_back({neighbour, weight}); });
    }
    first_.push_back(static_cast<int64_t>(taps_.size()));
    describe();
  }

  /// What a gradient is made of: for each element of the image, those of the result that took a share of it. Here the
  /// result's gradient is resampled, and the image's comes out; one of which nobody took a share has no neighbours.
  UpsampleTaps transposed() const {
    std::vector<std::vector<UpsampleTap<C>>> takers(static_cast<size_t>(image_));
    for (int64_t at = 0; at < result_; ++at) {
      for (const auto* tap = begin(at); tap != end(at); ++tap) {
        takers[static_cast<size_t>(tap->at)].push_back({at, tap->weight});
      }
    }
    UpsampleTaps found(result_, image_);
    for (const auto& taps : takers) {
      found.first_.push_back(static_cast<int64_t>(found.taps_.size()));
      found.taps_.insert(found.taps_.end(), taps.begin(), taps.end());
    }
    found.first_.push_back(static_cast<int64_t>(found.taps_.size()));
    found.describe();
    return found;
  }

  int64_t image() const { return image_; }
  int64_t result() const { return result_; }
  const UpsampleTap<C>* begin(int64_t at) const { return taps_.data() + first_[static_cast<size_t>(at)]; }
  const UpsampleTap<C>* end(int64_t at) const { return begin(at + 1); }

  /// How many neighbours each element has; 0 if they don't have the same number.
  int count() const { return count_; }
  /// Whether each element is one of the image's,
  bool copies() const { return copies_; }
  /// and even the same.
  bool same() const { return same_; }

 private:
  UpsampleTaps(int64_t image, int64_t result) : image_(image), result_(result) {}

  void describe() {
    same_ = image_ == result_;
    for (int64_t at = 0; at < result_; ++at) {
      const auto count = static_cast<int>(end(at) - begin(at));
      count_ = at == 0 || count == count_ ? count : 0;
      copies_ = copies_ && count == 1 && begin(at)->weight == C(1);
      same_ = same_ && copies_ && begin(at)->at == at;
    }
  }

  int64_t image_;
  int64_t result_;
  int count_ = 0;
  bool copies_ = true;
  bool same_ = false;
  std::vector<UpsampleTap<C>> taps_;
  std::vector<int64_t> first_; ///< Where in `taps_` each element's start.
};

} // namespace openreg::kernels
