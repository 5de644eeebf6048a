// Random numbers of a graph: other ones at each replay.
#include "graph/captured_numbers.h"

#include "memory/allocator.h"
#include "ops/launch/kernel.h"

#include <kernels/factory/fill.h>
#include <kernels/launch/pointers.h>

#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace openreg {
namespace {

constexpr size_t kStateSize = 2 * sizeof(uint64_t); // seed and offset

// LITERALINCLUDE START: WRITE STATE
/// Queues the writing of seed and offset, as one element of 16 bytes: the value travels with the launch, so that no
/// memory of the host has to stay as it is until the device gets there.
void writeState(void* memory, const kernels::PhiloxRange& range, c10::DeviceIndex device) {
  kernels::FillArgs args{};
  const std::array state = {range.seed, range.offset};
  std::memcpy(args.value, state.data(), kStateSize);
  args.dst = memory;
  args.elementSize = kStateSize;
  args.dims = 0;
  const std::array pointers = {kernels::contiguousPointer(offsetof(kernels::FillArgs, dst), orAccessWrite, kStateSize)};
  launch(kernel<"fill">, device, args, pointers);
}
// LITERALINCLUDE END: WRITE STATE

} // namespace

CapturedNumbers::Source* CapturedNumbers::find(const Generator& generator) {
  const auto found = std::ranges::find(sources_, &generator, &Source::generator);
  return found == sources_.end() ? nullptr : &*found;
}

// LITERALINCLUDE START: RESERVE CAPTURED
kernels::PhiloxRange CapturedNumbers::reserve(Generator& generator, uint64_t blocks) {
  std::unique_lock lock(mutex_);
  if (find(generator) == nullptr) {
    lock.unlock(); // whoever runs out of memory runs code of the program, which may take the GIL
    const c10::DeviceGuard guard(generator.device());
    auto memory = allocator()->allocate(kStateSize); // of the current stream, which captures: from the graph's pool
    lock.lock();
    if (find(generator) == nullptr) {
      auto owner = c10::intrusive_ptr<c10::GeneratorImpl>::reclaim_copy(&generator);
      sources_.push_back({std::move(owner), &generator, std::move(memory), 0});
    }
  }
  auto* source = find(generator);
  return {
      0, std::exchange(source->blocks, source->blocks + blocks), static_cast<const uint64_t*>(source->memory.get())};
}

void CapturedNumbers::fill() {
  for (const auto& source : sources_) { // the capture has ended: nothing is added
    const auto range = source.generator->reserve(source.blocks);
    writeState(source.memory.get(), range, source.generator->device().index());
  }
}
// LITERALINCLUDE END: RESERVE CAPTURED

} // namespace openreg
