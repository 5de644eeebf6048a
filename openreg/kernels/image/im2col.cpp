// The kernels "unfold" and "fold".
#include "kernels/image/im2col.h"

#include "kernels/image/columns.h"
#include "kernels/launch/dtype.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

/// A plane of an image, and its rows of the matrix.
template <class C>
class PlaneLoop : public LoopOver<UnfoldArgs> {
 public:
  using LoopOver::LoopOver;

 protected:
  int64_t taps() const { return product(args_.window.size); }
  int64_t positions() const { return product(args_.window.result); }
  C* image(int64_t plane) const { return static_cast<C*>(args_.image) + plane * product(args_.window.image); }
  C* matrix(int64_t plane) const {
    return static_cast<C*>(args_.matrix) + plane / args_.planes * args_.imageStride +
           plane % args_.planes * taps() * args_.rowStride;
  }
};

template <class C>
class Unfold : public PlaneLoop<C> {
 public:
  using PlaneLoop<C>::PlaneLoop;
  int64_t count() const { return this->args_.images * this->args_.planes * this->taps(); }
  int64_t grain() const { return grainOfRows(this->positions()); }

  void operator()(int64_t begin, int64_t end) const {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t plane = row / this->taps();
      const int64_t tap = row % this->taps();
      const C* image = this->image(plane);
      unfoldRow(this->args_.window, tap, image, this->matrix(plane) + tap * this->args_.rowStride);
    }
  }
};

template <class C>
class Fold : public PlaneLoop<C> {
 public:
  using PlaneLoop<C>::PlaneLoop;
  int64_t count() const { return this->args_.images * this->args_.planes; }
  int64_t grain() const { return grainOfRows(this->taps() * this->positions()); }

  void operator()(int64_t begin, int64_t end) const {
    for (int64_t plane = begin; plane < end; ++plane) {
      const C* matrix = this->matrix(plane);
      foldPlane(this->args_.window, this->image(plane), matrix, this->args_.rowStride);
    }
  }
};

const RowLoops<"unfold", UnfoldArgs, Unfold, bool, float, double, Complex<float>, Complex<double>> kUnfold;
const RowLoops<"fold", UnfoldArgs, Fold, bool, float, double, Complex<float>, Complex<double>> kFold;

} // namespace

} // namespace openreg::kernels
