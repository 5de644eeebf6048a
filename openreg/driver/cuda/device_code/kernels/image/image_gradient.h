// The gradient of an image on a GPU: a thread takes an element of the image, and adds up what the windows over it give.
#pragma once

#include "kernels/image/pool_loops.h"

namespace openreg::kernels {

/// Calls `use(number, position)` for each position from whose first to whose last element an element lies.
template <class Spans, class Use>
void forEachPositionOver(const Spans& spans, const Place& element, Use use) {
  const Span depth = spans.over(0, element.d);
  const Span height = spans.over(1, element.h);
  const Span width = spans.over(2, element.w);
  const Extent& result = spans.result();
  for (int64_t d = depth.begin; d < depth.end; ++d) {
    for (int64_t h = height.begin; h < height.end; ++h) {
      for (int64_t w = width.begin; w < width.end; ++w) {
        use((d * result[1] + h) * result[2] + w, Place{d, h, w});
      }
    }
  }
}

/// A loop over the elements of all images. @tparam Share A functor: `share(args, element, result, position)` is what an
/// element of a plane gets from the result of this number, which is at this position in its plane.
template <class C, class Args, class Share>
class ImageGradient : public LoopOver<Args> {
 public:
  using LoopOver<Args>::LoopOver;
  int64_t count() const { return this->args_.planes * product(spansOf(this->args_).image()); }

  void operator()(int64_t begin, int64_t end) const {
    const auto spans = spansOf(this->args_);
    const int64_t elements = product(spans.image());
    for (int64_t i = begin; i < end; ++i) {
      const int64_t element = i % elements;
      const int64_t first = i / elements * product(spans.result());
      C sum(0);
      forEachPositionOver(spans, Place::of(spans.image(), element), [&](int64_t at, const Place& position) {
        sum += Share()(this->args_, element, first + at, position);
      });
      static_cast<C*>(this->args_.image)[i] = sum;
    }
  }
};

} // namespace openreg::kernels
