// The kernel "index_reduce": elements are added to where index tensors point, or multiplied, or compared.
#include <cstring>

#include "kernels/indexing/arrival.h"
#include "kernels/indexing/index_loops.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/multiversion.h"

namespace openreg::kernels {

namespace {

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
    if constexpr (!kHasOrder<T>) {
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
