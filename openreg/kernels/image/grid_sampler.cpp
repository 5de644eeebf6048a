// The kernels "grid_sampler" and "grid_sampler_backward".
#include "kernels/image/grid_sampler.h"

#include "kernels/image/grid_places.h"
#include "kernels/launch/dtype.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

/// A piece of the positions of one image, for all channels.
template <class C>
class GridSampler : public LoopOver<GridSamplerArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.batch * pieces(); }
  int64_t grain() const { return grainOfRows(kGridPiece * args_.channels * 8); }
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = piece % pieces() * kGridPiece;
      const int64_t left = product(args_.resultSize) - first;
      samplePositions<C>(args_, piece / pieces(), first, left < kGridPiece ? left : kGridPiece);
    }
  }

 private:
  int64_t pieces() const { return (product(args_.resultSize) + kGridPiece - 1) / kGridPiece; }
};

/// An image: its positions add to the same elements.
template <class C>
class GridSamplerBackward : public LoopOver<GridSamplerArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return args_.batch; }
  int64_t grain() const { return grainOfRows(args_.channels * product(args_.resultSize) * 8); }
  void operator()(int64_t begin, int64_t end) const {
    for (int64_t n = begin; n < end; ++n) {
      deriveImage<C>(args_, n);
    }
  }
};

const RowLoops<"grid_sampler", GridSamplerArgs, GridSampler, float, double> kForward;
const RowLoops<"grid_sampler_backward", GridSamplerArgs, GridSamplerBackward, float, double> kBackward;

} // namespace

} // namespace openreg::kernels
