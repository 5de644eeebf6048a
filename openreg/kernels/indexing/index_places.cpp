// The kernels "index_places" and "reduce_places".
#include "kernels/indexing/index_places.h"

#include "kernels/indexing/arrival.h"
#include "kernels/indexing/index_error.h"
#include "kernels/loop/loops.h"

namespace openreg::kernels {

namespace {

constexpr int64_t kNowhere = -1;

/// How far an element lies from the first one. @param element Its number along the dimensions [first, last).
int64_t distanceOf(const IndexArgs& space, const int64_t* strides, int first, int last, int64_t element) {
  int64_t distance = 0;
  for (int d = first; d < last; ++d) {
    distance += element % space.sizes[d] * strides[d];
    element /= space.sizes[d];
  }
  return distance;
}

/// Where each element goes.
class FindPlaces : public LoopOver<IndexPlacesArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return elementCount(static_cast<int>(args_.placed), args_.space.sizes); }

  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    for (int64_t element = begin; element < end; ++element) {
      args_.places[element] = placeOf(element, context);
    }
  }

 private:
  int64_t placeOf(int64_t element, orKernelContext& context) const {
    const IndexArgs& space = args_.space;
    const int dims = static_cast<int>(args_.placed);
    int64_t place = distanceOf(space, space.indexedStrides, 0, dims, element);
    for (int k = 0; k < space.indices; ++k) {
      const IndexArg& index = space.index[k];
      const char* at = reinterpret_cast<const char*>(index.data) + distanceOf(space, index.strides, 0, dims, element);
      const int64_t given = *reinterpret_cast<const int64_t*>(at);
      const int64_t value = given + (given < 0 && space.wraps != 0 ? index.size : 0);
      if (value < 0 || value >= index.size) {
        failOutOfRange(context, given, index.dimension, index.size);
        return kNowhere;
      }
      place += value * index.stride;
    }
    return place;
  }
};

// LITERALINCLUDE START: REDUCE PLACES
/// The places are in order: whose place is not that of the one before it takes all that follow with the same place, one
/// after the other. So nobody else writes there, and the order is that of the walk.
class ReducePlaces : public LoopOver<IndexPlacesArgs> {
 public:
  using LoopOver::LoopOver;
  int64_t count() const { return elementCount(args_.space.dims, args_.space.sizes); }

  void operator()(int64_t begin, int64_t end, orKernelContext& context) const {
    withStorageType(args_.space.dtype, [&]<class T>(T) {
      switch (args_.space.arrival) {
        case Arrival::Add:
          return reduce<T, Arrival::Add>(begin, end);
        case Arrival::Multiply:
          return reduce<T, Arrival::Multiply>(begin, end);
        default:
          break;
      }
      if constexpr (!kHasOrder<T>) {
        context.fail(&context, orErrorInvalidValue, "complex numbers have no order");
      } else if (args_.space.arrival == Arrival::Maximum) {
        reduce<T, Arrival::Maximum>(begin, end);
      } else {
        reduce<T, Arrival::Minimum>(begin, end);
      }
    });
  }

 private:
  template <class T, Arrival arrival>
  void reduce(int64_t begin, int64_t end) const {
    const IndexArgs& space = args_.space;
    const int placed = static_cast<int>(args_.placed);
    const int64_t elements = elementCount(placed, space.sizes);
    const int64_t others = count() / elements; // of the dimensions in which all elements go the same way
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / others;
      const int64_t other = i % others;
      const int64_t place = args_.places[first];
      if (place == kNowhere || (first > 0 && args_.places[first - 1] == place)) {
        continue;
      }
      const char* dense =
          static_cast<const char*>(space.dense) + distanceOf(space, space.denseStrides, placed, space.dims, other);
      auto* there = reinterpret_cast<T*>(
          static_cast<char*>(space.indexed) + place +
          distanceOf(space, space.indexedStrides, placed, space.dims, other));
      T value = *there;
      for (int64_t at = first; at < elements && args_.places[at] == place; ++at) {
        const int64_t from = distanceOf(space, space.denseStrides, 0, placed, args_.elements[at]);
        value = combined<T, arrival>(value, *reinterpret_cast<const T*>(dense + from));
      }
      *there = value;
    }
  }
};
// LITERALINCLUDE END: REDUCE PLACES

constexpr size_t kLeast = offsetof(IndexPlacesArgs, space) + offsetof(IndexArgs, index);
const Entry<"index_places", IndexPlacesArgs, kLeast, &LoopKernel<IndexPlacesArgs, FindPlaces>::run> kFind;
const Entry<"reduce_places", IndexPlacesArgs, kLeast, &LoopKernel<IndexPlacesArgs, ReducePlaces>::run> kReduce;

} // namespace

} // namespace openreg::kernels
