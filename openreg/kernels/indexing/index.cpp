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
void get(const IndexRun& run) {
  if (run.isDense(sizeof(T))) {
    std::memcpy(run.dense, run.indexed, static_cast<size_t>(run.count) * sizeof(T));
    return;
  }
  forElements<sizeof(T)>(run, [](char* dense, const char* indexed) { move<T>(dense, indexed); });
}

template <class T>
void put(const IndexRun& run) {
  if (run.isDense(sizeof(T))) {
    std::memcpy(run.indexed, run.dense, static_cast<size_t>(run.count) * sizeof(T));
    return;
  }
  forElements<sizeof(T)>(run, [](const char* dense, char* indexed) { move<T>(indexed, dense); });
}

void index(const void* bytes, orKernelContext* context) {
  const auto& args = *static_cast<const IndexArgs*>(bytes);
  if (!withElementType(args.elementSize, [&]<class T>(T) { forEachRead(args, *context, &get<T>); })) {
    context->fail(context, orErrorInvalidValue, "elementSize is not 1, 2, 4, 8 or 16");
  }
}

void indexPut(const void* bytes, orKernelContext* context) {
  const auto& args = *static_cast<const IndexArgs*>(bytes);
  if (!withElementType(args.elementSize, [&]<class T>(T) { forEachReplaced(args, *context, &put<T>); })) {
    context->fail(context, orErrorInvalidValue, "elementSize is not 1, 2, 4, 8 or 16");
  }
}

const Entry<"index", IndexArgs, offsetof(IndexArgs, index), &index> kIndex;
const Entry<"index_put", IndexArgs, offsetof(IndexArgs, index), &indexPut> kIndexPut;

} // namespace

} // namespace openreg::kernels
