// The kernels "index" and "index_put": elements from where index tensors point, and to there. They move bytes.
#include <cstring>

#include "kernels/indexing/index_loops.h"
#include "kernels/launch/registry.h"
#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

/// Moves an element of type T; by memcpy, which is free here: an array may start at any byte.
template <class T>
void move(char* to, const char* from) {
  T element;
  std::memcpy(&element, from, sizeof(T));
  std::memcpy(to, &element, sizeof(T));
}

template <class T>
bool isDense(const IndexRun& run) {
  return run.offsets == nullptr && run.denseStride == sizeof(T) && run.indexedStride == sizeof(T);
}

template <class T>
void get(const IndexRun& run) {
  const auto& [dense, indexed, denseStride, indexedStride, offsets, count] = run;
  if (isDense<T>(run)) {
    std::memcpy(dense, indexed, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    move<T>(dense + i * denseStride, indexed + i * indexedStride + (offsets != nullptr ? offsets[i] : 0));
  }
}

template <class T>
void put(const IndexRun& run) {
  const auto& [dense, indexed, denseStride, indexedStride, offsets, count] = run;
  if (isDense<T>(run)) {
    std::memcpy(indexed, dense, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    move<T>(indexed + i * indexedStride + (offsets != nullptr ? offsets[i] : 0), dense + i * denseStride);
  }
}

void index(const void* bytes, orKernelContext* context) {
  const auto& args = *static_cast<const IndexArgs*>(bytes);
  if (!withElementType(args.elementSize, [&]<class T>(T) { forEachRead(args, *context, &get<T>); })) {
    context->fail(context, orErrorInvalidValue, "elementSize is not 1, 2, 4, 8 or 16");
  }
}

void indexPut(const void* bytes, orKernelContext* context) {
  const auto& args = *static_cast<const IndexArgs*>(bytes);
  if (!withElementType(args.elementSize, [&]<class T>(T) { forEachWritten(args, *context, &put<T>); })) {
    context->fail(context, orErrorInvalidValue, "elementSize is not 1, 2, 4, 8 or 16");
  }
}

[[maybe_unused]] const bool registered = [] {
  add({"index", &index, offsetof(IndexArgs, index)});
  add({"index_put", &indexPut, offsetof(IndexArgs, index)});
  return true;
}();

} // namespace

} // namespace openreg::kernels
