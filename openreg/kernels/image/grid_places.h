// Positions of a grid, some of one image at a time: their neighbours are found once, and used for all channels.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/image/grid_position.h"
#include "kernels/loop/block.h"

namespace openreg::kernels {

/// Positions that are worth a piece.
constexpr int64_t kGridPiece = kBlock;

/// The neighbours of some positions in a row, an array for each thing that is asked of them.
template <class C>
class GridPlaces {
 public:
  GridPlaces(const GridSamplerArgs& args, const C* grid, int64_t count) {
    at_.reserve(static_cast<size_t>(count) << args.dims);
    weights_.reserve(at_.capacity());
    slopes_.reserve(at_.capacity());
    for (int64_t i = 0; i < count; ++i, grid += args.dims) {
      const GridPosition<C> position(args, grid);
      first_.push_back(at_.size());
      position.forEachNeighbour(args.imageSize, [&](int64_t at, C weight, const GridSlopes<C>& slopes) {
        at_.push_back(at);
        weights_.push_back(weight);
        slopes_.push_back(slopes);
      });
      starts_.push_back(position.start());
      slopeStarts_.push_back({position.startOfSlope(0), position.startOfSlope(1), position.startOfSlope(2)});
    }
    first_.push_back(at_.size());
  }

  size_t first(int64_t position) const { return first_[static_cast<size_t>(position)]; }
  size_t count() const { return at_.size(); }
  const int64_t* at() const { return at_.data(); } ///< Numbers of elements in their plane.
  const C* weights() const { return weights_.data(); }
  const GridSlopes<C>* slopes() const { return slopes_.data(); }
  C start(int64_t position) const { return starts_[static_cast<size_t>(position)]; }
  GridSlopes<C> slopesAt(int64_t position) const { return slopeStarts_[static_cast<size_t>(position)]; }

 private:
  std::vector<int64_t> at_;
  std::vector<C> weights_;
  std::vector<GridSlopes<C>> slopes_;
  std::vector<size_t> first_; ///< Where each position's neighbours begin; behind them, how many there are.
  std::vector<C> starts_;
  std::vector<GridSlopes<C>> slopeStarts_;
};

// LITERALINCLUDE START: GRID SAMPLER
/// Writes the result at some positions of an image, in all its channels.
template <class C>
void samplePositions(const GridSamplerArgs& args, int64_t n, int64_t begin, int64_t count) {
  const int64_t positions = product(args.resultSize);
  const int64_t plane = product(args.imageSize);
  const GridPlaces<C> places(args, static_cast<const C*>(args.grid) + (n * positions + begin) * args.dims, count);
  for (int64_t channel = n * args.channels; channel < (n + 1) * args.channels; ++channel) {
    const C* image = static_cast<const C*>(args.image) + channel * plane;
    C* result = static_cast<C*>(args.result) + channel * positions + begin;
    size_t k = 0;
    for (int64_t i = 0; i < count; ++i) {
      C sum = places.start(i);
      for (const size_t end = places.first(i + 1); k < end; ++k) {
        sum += image[places.at()[k]] * places.weights()[k];
      }
      result[i] = sum;
    }
  }
}
// LITERALINCLUDE END: GRID SAMPLER

/// Of each neighbour, adds up over the channels what it has of the gradient.
template <class C>
void addUpNeighbours(const GridPlaces<C>& places, int64_t count, const C* grad, const C* image, C* sums) {
  for (int64_t i = 0; i < count; ++i) {
    const C given = grad[i];
    for (size_t k = places.first(i); k < places.first(i + 1); ++k) {
      sums[k] += given * image[places.at()[k]];
    }
  }
}

template <class C>
void spreadToNeighbours(const GridPlaces<C>& places, int64_t count, const C* grad, C* gradImage) {
  for (int64_t i = 0; i < count; ++i) {
    const C given = grad[i];
    for (size_t k = places.first(i); k < places.first(i + 1); ++k) {
      gradImage[places.at()[k]] += given * places.weights()[k];
    }
  }
}

/// Adds to the gradients of an image what comes from some positions, and writes those of the grid there.
template <class C>
void derivePositions(const GridSamplerArgs& args, int64_t n, int64_t begin, int64_t count) {
  const int64_t positions = product(args.resultSize);
  const int64_t plane = product(args.imageSize);
  const int64_t row = (n * positions + begin) * args.dims;
  const GridPlaces<C> places(args, static_cast<const C*>(args.grid) + row, count);
  std::vector<C> sums(places.count());
  for (int64_t channel = n * args.channels; channel < (n + 1) * args.channels; ++channel) {
    const C* grad = static_cast<const C*>(args.result) + channel * positions + begin;
    const C* image = static_cast<const C*>(args.image) + channel * plane;
    addUpNeighbours(places, count, grad, image, sums.data());
    if (args.gradImage != nullptr) {
      spreadToNeighbours(places, count, grad, static_cast<C*>(args.gradImage) + channel * plane);
    }
  }
  for (int64_t i = 0; args.gradGrid != nullptr && i < count; ++i) {
    auto slopes = places.slopesAt(i);
    for (size_t k = places.first(i); k < places.first(i + 1); ++k) {
      for (int dim = 0; dim < 3; ++dim) {
        slopes.by[dim] += sums[k] * places.slopes()[k].by[dim];
      }
    }
    for (int dim = 0; dim < args.dims; ++dim) {
      static_cast<C*>(args.gradGrid)[row + i * args.dims + dim] = slopes.by[2 - dim];
    }
  }
}

/// Writes the gradients of an image and of its grid.
template <class C>
void deriveImage(const GridSamplerArgs& args, int64_t n) {
  if (args.gradImage != nullptr) {
    const int64_t size = args.channels * product(args.imageSize);
    std::fill_n(static_cast<C*>(args.gradImage) + n * size, size, C(0));
  }
  const int64_t positions = product(args.resultSize);
  for (int64_t begin = 0; begin < positions; begin += kGridPiece) {
    derivePositions<C>(args, n, begin, std::min(kGridPiece, positions - begin));
  }
}

} // namespace openreg::kernels
