// The kernels "unfold" and "fold".
#include "kernels/image/im2col.h"

#include "kernels/image/columns.h"
#include "kernels/launch/dtype.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

/// Planes of images, and their rows of the matrix.
class PlaneLoop : public LoopOver<UnfoldArgs> {
 public:
  using LoopOver::LoopOver;

 protected:
  int64_t taps() const { return product(args_.window.size); }
  int64_t positions() const { return product(args_.window.result); }
  int64_t planes() const { return args_.images * args_.planes; }

  template <class T>
  T* image(int64_t plane) const {
    return static_cast<T*>(args_.image) + plane * product(args_.window.image);
  }
  template <class T>
  T* matrix(int64_t plane) const {
    return static_cast<T*>(args_.matrix) + plane / args_.planes * args_.imageStride +
           plane % args_.planes * taps() * args_.rowStride;
  }
};

class Unfold : public PlaneLoop {
 public:
  static const char* refusal(const UnfoldArgs& args) {
    return withElementType(args.elementSize, [](auto) {}) ? nullptr : "elementSize is no size that is moved";
  }
  using PlaneLoop::PlaneLoop;
  int64_t count() const { return planes() * taps(); }
  int64_t grain() const { return grainOfRows(positions()); }

  void operator()(int64_t begin, int64_t end) const {
    withElementType(args_.elementSize, [&]<class T>(T) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t plane = row / taps();
        const int64_t tap = row % taps();
        unfoldRow<T>(args_.window, tap, image<T>(plane), matrix<T>(plane) + tap * args_.rowStride);
      }
    });
  }
};

template <class C>
class Fold : public PlaneLoop {
 public:
  using PlaneLoop::PlaneLoop;
  int64_t count() const { return planes(); }
  int64_t grain() const { return grainOfRows(taps() * positions()); }

  void operator()(int64_t begin, int64_t end) const {
    for (int64_t plane = begin; plane < end; ++plane) {
      foldPlane<C>(args_.window, image<C>(plane), matrix<C>(plane), args_.rowStride);
    }
  }
};

const RowLoop<"unfold", UnfoldArgs, Unfold> kUnfold;
const RowLoops<"fold", UnfoldArgs, Fold, bool, float, double, Complex<float>, Complex<double>> kFold;

} // namespace

} // namespace openreg::kernels
