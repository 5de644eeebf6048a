// The kernel "index_reduce": elements are added to where index tensors point, or multiplied, or compared.
#include <cmath>
#include <cstring>

#include "kernels/indexing/index_loops.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/convert.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

template <class C>
bool isNan(C value) {
  if constexpr (std::is_floating_point_v<C>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

template <Arrival arrival, class C>
C arrive(C there, C comes) {
  if constexpr (arrival == Arrival::Add) {
    return there + comes;
  } else if constexpr (arrival == Arrival::Multiply) {
    return there * comes;
  } else if constexpr (arrival == Arrival::Maximum) {
    return isNan(comes) || there < comes ? comes : there; // A NaN stays: nothing is larger.
  } else {
    return isNan(comes) || comes < there ? comes : there;
  }
}

template <class T>
struct ComputeIn {
  using Type = int64_t;
};
template <class T>
  requires std::is_floating_point_v<T> || kIsComplex<T> || std::is_same_v<T, bool> || std::is_same_v<T, uint64_t>
struct ComputeIn<T> {
  using Type = T;
};
template <class T>
  requires std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>
struct ComputeIn<T> {
  using Type = float;
};
template <>
struct ComputeIn<ComplexHalf> {
  using Type = Complex<float>;
};

template <class T, Arrival arrival>
T combined(T there, T comes) {
  using C = ComputeIn<T>::Type;
  return convert<T>(arrive<arrival>(convert<C>(there), convert<C>(comes)));
}

/// Of arrays, as slices of a tensor are.
template <class T, Arrival arrival>
OPENREG_MULTIVERSION void reduceDense(int64_t count, T* there, const T* comes) {
  for (int64_t i = 0; i < count; ++i) {
    there[i] = combined<T, arrival>(there[i], comes[i]);
  }
}

template <class T, Arrival arrival>
void reduce(const IndexRun& run) {
  if (run.isDense(sizeof(T))) {
    reduceDense<T, arrival>(run.count, reinterpret_cast<T*>(run.indexed), reinterpret_cast<const T*>(run.dense));
    return;
  }
  forElements<sizeof(T)>(run, [](const char* dense, char* indexed) {
    T comes;
    T there;
    std::memcpy(&comes, dense, sizeof(T));
    std::memcpy(&there, indexed, sizeof(T));
    there = combined<T, arrival>(there, comes);
    std::memcpy(indexed, &there, sizeof(T));
  });
}

void indexReduce(const void* bytes, orKernelContext* context) {
  const auto& args = *static_cast<const IndexArgs*>(bytes);
  withStorageType(args.dtype, [&]<class T>(T) {
    switch (args.arrival) {
      case Arrival::Add:
        return forEachWritten(args, *context, &reduce<T, Arrival::Add>);
      case Arrival::Multiply:
        return forEachWritten(args, *context, &reduce<T, Arrival::Multiply>);
      default:
        break;
    }
    if constexpr (kIsComplex<T> || std::is_same_v<T, ComplexHalf>) {
      context->fail(context, orErrorInvalidValue, "complex numbers have no order");
    } else if (args.arrival == Arrival::Maximum) {
      forEachWritten(args, *context, &reduce<T, Arrival::Maximum>);
    } else {
      forEachWritten(args, *context, &reduce<T, Arrival::Minimum>);
    }
  });
}

const HostEntry<"index_reduce", IndexArgs, offsetof(IndexArgs, index), &indexReduce> kIndexReduce;

} // namespace

} // namespace openreg::kernels
