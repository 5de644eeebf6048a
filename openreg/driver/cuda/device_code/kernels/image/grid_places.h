// Positions of a grid on a GPU: a thread has one, and goes through the channels.
#pragma once

#include "kernels/image/grid_position.h"
#include "kernels/loop/row.h"

namespace openreg::kernels {

/// Positions that a block has.
constexpr int64_t kGridPiece = kThreads;

/// Writes the result at some positions of an image, in all its channels.
template <class C>
void samplePositions(const GridSamplerArgs& args, int64_t n, int64_t begin, int64_t count) {
  const int64_t positions = product(args.resultSize);
  forEachOfRow(count, [&](int64_t i) {
    const GridPosition<C> position(args, static_cast<const C*>(args.grid) + (n * positions + begin + i) * args.dims);
    for (int64_t channel = n * args.channels; channel < (n + 1) * args.channels; ++channel) {
      const C* image = static_cast<const C*>(args.image) + channel * product(args.imageSize);
      C sum = position.start();
      position.forEachNeighbour(
          args.imageSize, [&](int64_t at, C weight, const GridSlopes<C>&) { sum += image[at] * weight; });
      static_cast<C*>(args.result)[channel * positions + begin + i] = sum;
    }
  });
}

/// Writes the grid's gradient at a position of an image.
template <class C>
void derivePosition(const GridSamplerArgs& args, int64_t n, int64_t i) {
  const int64_t positions = product(args.resultSize);
  const int64_t number = (n * positions + i) * args.dims;
  const GridPosition<C> position(args, static_cast<const C*>(args.grid) + number);
  GridSlopes<C> slopes = {position.startOfSlope(0), position.startOfSlope(1), position.startOfSlope(2)};
  position.forEachNeighbour(args.imageSize, [&](int64_t at, C, const GridSlopes<C>& of) {
    C sum(0);
    for (int64_t channel = n * args.channels; channel < (n + 1) * args.channels; ++channel) {
      const C* image = static_cast<const C*>(args.image) + channel * product(args.imageSize);
      sum += static_cast<const C*>(args.result)[channel * positions + i] * image[at];
    }
    for (int dim = 0; dim < 3; ++dim) {
      slopes.by[dim] += sum * of.by[dim];
    }
  });
  for (int dim = 0; dim < args.dims; ++dim) {
    static_cast<C*>(args.gradGrid)[number + dim] = slopes.by[2 - dim];
  }
}

/// Writes a row of the gradient of an image, in all its channels. It looks at all positions: no other thread adds to
/// this row, and each element's sum has one order.
template <class C>
void deriveRow(const GridSamplerArgs& args, int64_t n, int64_t row) {
  const int64_t positions = product(args.resultSize), plane = product(args.imageSize);
  C* gradImage = static_cast<C*>(args.gradImage) + n * args.channels * plane;
  const int64_t width = args.imageSize[2], first = row * width;
  for (int64_t channel = 0; channel < args.channels; ++channel) {
    for (int64_t w = 0; w < width; ++w) {
      gradImage[channel * plane + first + w] = C(0);
    }
  }
  for (int64_t i = 0; i < positions; ++i) {
    const GridPosition<C> position(args, static_cast<const C*>(args.grid) + (n * positions + i) * args.dims);
    position.forEachNeighbour(args.imageSize, [&](int64_t at, C weight, const GridSlopes<C>&) {
      for (int64_t channel = 0; at >= first && at < first + width && channel < args.channels; ++channel) {
        const C* grad = static_cast<const C*>(args.result) + (n * args.channels + channel) * positions;
        gradImage[channel * plane + at] += grad[i] * weight;
      }
    });
  }
}

/// Writes the gradients of an image and of its grid.
template <class C>
void deriveImage(const GridSamplerArgs& args, int64_t n) {
  if (args.gradGrid != nullptr) {
    forEachOfRow(product(args.resultSize), [&](int64_t i) { derivePosition<C>(args, n, i); });
  }
  if (args.gradImage != nullptr) {
    forEachOfRow(args.imageSize[0] * args.imageSize[1], [&](int64_t row) { deriveRow<C>(args, n, row); });
  }
}

} // namespace openreg::kernels
