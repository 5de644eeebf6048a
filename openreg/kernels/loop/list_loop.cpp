// Elementwise kernels over lists of tensors: what all of them share.
#include "kernels/loop/list_loop.h"

#include <cstring>

#include "kernels/loop/element.h"

namespace openreg::kernels {

namespace {

struct RunningList {
  const ListArgs& args;
  ElementwiseLoop loop;
};

/// One tensor of the list as the arguments of the kernel that works on one.
void describeTensor(const ListArgs& list, const ListEntry& entry, StridedArgs& args) {
  args.dims = 1;
  args.operands = list.operands + list.inPlace;
  args.common = list.common;
  std::memcpy(args.parameters, entry.parameters, sizeof(entry.parameters));
  args.sizes()[0] = entry.count;
  for (int k = 0; k < args.operands; ++k) {
    auto& operand = args.operand(k);
    operand = entry.operand(std::max(k - list.inPlace, 0));
    args.strides(k)[0] = operand.immediate != 0 ? 0 : elementSize(operand.dtype);
    operand.immediate = operand.immediate == kSingle ? 0 : operand.immediate;
  }
}

void listLoop(void* state, int64_t begin, int64_t end) {
  const auto& [list, loop] = *static_cast<const RunningList*>(state);
  const auto count = [&list = list](int i) { return list.entry(i).count; };
  eachPart(list.tensors, count, begin, end, [&list = list, loop = loop](int i, int64_t from, int64_t to) {
    StridedArgs args; // not initialised as a whole: most of it is not used
    describeTensor(list, list.entry(i), args);
    loop(&args, from, to);
  });
}

} // namespace

void runList(const ListArgs& args, int operands, ElementwiseLoop loop, orKernelContext* context) {
  if (args.tensors < 0 || args.inPlace < 0 || args.inPlace > 1 || args.operands < 1 ||
      args.operands + args.inPlace != operands || args.size() > sizeof(ListArgs)) {
    return context->fail(context, orErrorInvalidValue, "tensors, operands or inPlace is out of range");
  }
  int64_t elements = 0;
  for (int i = 0; i < args.tensors; ++i) {
    elements += args.entry(i).count;
  }
  RunningList list{args, loop};
  context->parallelFor(context, elements, kGrain, &listLoop, &list);
}

} // namespace openreg::kernels
