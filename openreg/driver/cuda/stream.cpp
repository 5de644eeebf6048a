// A stream's life and its work.
#include "stream.h"

#include <cstring>
#include <variant>

#include "common/calls/stream_calls.h"
#include "driver.h"

namespace openreg::cuda {

uint64_t Stream::open(Device& device, int priority) {
  int least = 0;
  int greatest = 0;
  OPENREG_CUDA(cuCtxGetStreamPriorityRange, &least, &greatest);
  CUstream made = nullptr;
  OPENREG_CUDA(
      cuStreamCreateWithPriority, &made, CU_STREAM_NON_BLOCKING, priority == kGreatestPriority ? greatest : least);
  const std::lock_guard lock(mutex_);
  cuda_ = Owned(made, [&device](CUstream stream) {
    device.scratches.release(stream);
    (void)library().cuStreamDestroy(stream); // What is queued still runs.
  });
  device_.store(&device, std::memory_order_release);
  priority_.store(priority, std::memory_order_relaxed);
  return Cuda::instance().streams.publish(*this);
}

bool Stream::close(uint64_t expected) {
  {
    const std::lock_guard lock(mutex_);
    if (expected == 0 || handle.load() != expected) {
      return false;
    }
    Cuda::instance().captures.leave(*this);
    handle.store(0);
    if (worker_ != nullptr) {
      worker_->finish();
      worker_ = nullptr;
    }
    device().enter();
    cuda_ = nullptr;
  }
  Cuda::instance().streams.release(*this);
  return true;
}

Stream::Owned Stream::held(uint64_t expected) const {
  const std::lock_guard lock(mutex_);
  requireStill(*this, expected);
  return cuda_;
}

void Stream::queueWait(uint64_t expected, const Event& event) {
  const Point point = event.latest();
  if (point.event() != nullptr) {
    OPENREG_CUDA(cuStreamWaitEvent, held(expected).get(), point.event(), 0);
  }
}

void Stream::queueRecord(uint64_t expected, const Version& version) {
  OPENREG_CUDA(cuEventRecord, version.event, held(expected).get());
}

void Stream::queueHostFunction(uint64_t expected, orHostFn_t function, void* userData, bool always) {
  const std::lock_guard lock(mutex_);
  requireStill(*this, expected);
  if (worker_ == nullptr) {
    worker_ = HostWorker::start(device());
  }
  worker_->queue(cuda_.get(), function, userData, always);
}

namespace {

/// Queues a copy in the direction that its ends ask for.
CUresult startCopy(CUstream stream, const Place& dst, const Place& src, size_t size) {
  const auto to = reinterpret_cast<CUdeviceptr>(dst.address);
  const auto from = reinterpret_cast<CUdeviceptr>(src.address);
  if (dst.device != nullptr && src.device != nullptr) {
    return dst.device == src.device || dst.device->reaches(*src.device)
               ? library().cuMemcpyDtoDAsync(to, from, size, stream)
               : library().cuMemcpyPeerAsync(to, dst.device->context(), from, src.device->context(), size, stream);
  }
  return dst.device != nullptr   ? library().cuMemcpyHtoDAsync(to, src.address, size, stream)
         : src.device != nullptr ? library().cuMemcpyDtoHAsync(dst.address, from, size, stream)
                                 : library().cuMemcpyAsync(to, from, size, stream);
}

/// Device memory of a graph's work; it does not stay if it has been freed. Freeing waits for what is queued, so what
/// holds now holds when the work has its turn.
Place placeOf(const char* ptr, size_t size) {
  Place place;
  if (const Device* owner = Cuda::instance().deviceOf(ptr)) {
    place.resolveDevice(ptr, size, *owner);
  }
  return place;
}

} // namespace

void Stream::queueCopy(uint64_t expected, Place&& dst, Place&& src, size_t size, Device*) {
  refuseUnless(startCopy(held(expected).get(), dst, src, size), "a copy");
}

void Stream::queueFill(uint64_t expected, Place&& dst, int value, size_t size) {
  OPENREG_CUDA(
      cuMemsetD8Async, reinterpret_cast<CUdeviceptr>(dst.address), static_cast<unsigned char>(value), size,
      held(expected).get());
}

void Stream::copyNow(uint64_t expected, const Place& dst, const Place& src, size_t size) {
  const Owned stream = held(expected);
  // Between two places of the host it is the caller's own work, at the stream's turn.
  const bool onHost = dst.device == nullptr && src.device == nullptr;
  if (size != 0 && !onHost) {
    refuseUnless(startCopy(stream.get(), dst, src, size), "a copy");
  }
  device().note(library().cuStreamSynchronize(stream.get()));
  require(device().surface());
  if (size != 0 && onHost) {
    std::memmove(dst.address, src.address, size);
  }
}

bool Stream::poll(uint64_t expected) {
  device().enter();
  const CUresult result = library().cuStreamQuery(held(expected).get());
  device().note(result);
  return result != CUDA_ERROR_NOT_READY;
}

void Stream::synchronize(uint64_t expected) {
  device().enter();
  device().note(library().cuStreamSynchronize(held(expected).get()));
}

void Stream::queueLaunch(
    uint64_t expected,
    const Kernel& kernel,
    const void* args,
    size_t argsSize,
    const orPointerArg* pointers,
    size_t pointerCount) {
  launch(device(), held(expected).get(), kernel, args, argsSize, {pointers, pointerCount});
}

void Stream::queueGraph(uint64_t expected, const std::shared_ptr<const Device::Program>& program) {
  Cuda& all = Cuda::instance();
  forEachHostEnd(program->nodes, [&](size_t node, const char* ptr, size_t size) {
    if (const auto block = all.pinned().find(ptr); !block || !Block{block->base, block->size}.holds(ptr, size)) {
      refuseUnpinned(node, ptr);
    }
  });
  const auto failFreed = [&](const char* what, size_t size) {
    const std::string on = std::to_string(size) + " bytes on device " + std::to_string(device().index);
    device().failBehind(
        held(expected).get(), orErrorIllegalAddress,
        std::string("a graph's ") + what + " of " + on + " uses memory that was freed");
  };
  // In the order of their submission each node comes after those it depends on.
  for (const auto& node : program->nodes) {
    std::visit(
        Overloaded{
            [&](const KernelWork& it) {
              const Kernel& kernel = named(all.kernels, handleOf<orKernel_t>(it.kernel));
              queueLaunch(expected, kernel, it.args.data(), it.args.size(), it.pointers.data(), it.pointers.size());
            },
            [&](const CopyWork& it) {
              const Place dst = it.toHost ? Place{it.dst, nullptr, true} : placeOf(it.dst, it.size);
              const Place src =
                  it.fromHost ? Place{const_cast<char*>(it.src), nullptr, true} : placeOf(it.src, it.size);
              if (dst.stays && src.stays) {
                queueCopy(expected, Place(dst), Place(src), it.size, nullptr);
              } else {
                failFreed("copy", it.size);
              }
            },
            [&](const FillWork& it) {
              if (const Place dst = placeOf(it.dst, it.size); dst.stays) {
                queueFill(expected, Place(dst), it.value, it.size);
              } else {
                failFreed("fill", it.size);
              }
            },
            [&](const HostWork& it) { queueHostFunction(expected, it.function, it.userData, false); }},
        node->work);
  }
}

} // namespace openreg::cuda
