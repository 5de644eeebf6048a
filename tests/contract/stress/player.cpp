// The stress program's operations with kernels, events and streams; player_memory.cpp has those on memory.
#include "player.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "check.h"
#include "kernels/copy/copy.h"
#include "kernels/factory/fill.h"
#include "kernels/launch/pointers.h"

namespace stress {

namespace k = openreg::kernels;

namespace {
constexpr size_t kMaxStreams = 4;
} // namespace

Player::Player(const Shared& shared, Counts& counts, uint64_t seed) : shared_(shared), counts_(counts), engine_(seed) {}

Player::Array* Player::pick() {
  if (arrays_.empty()) {
    allocate();
  }
  return arrays_[static_cast<size_t>(random(static_cast<int64_t>(arrays_.size())))].get();
}

Player::Array* Player::pickLike(const Array& other, bool sameDevice) {
  std::vector<Array*> fitting;
  for (const auto& array : arrays_) {
    if (array.get() != &other && (array->device == other.device) == sameDevice) {
      fitting.push_back(array.get());
    }
  }
  return fitting.empty() ? nullptr : fitting[static_cast<size_t>(random(static_cast<int64_t>(fitting.size())))];
}

orStream_t Player::pickStream(int device) {
  std::vector<orStream_t> fitting = shared_.devices[static_cast<size_t>(device)].streams;
  for (const auto& [on, stream] : ownStreams_) {
    if (on == device) {
      fitting.push_back(stream);
    }
  }
  return fitting[static_cast<size_t>(random(static_cast<int64_t>(fitting.size())))];
}

void Player::moveTo(Array& array, orStream_t stream) {
  if (array.stream == stream) {
    return;
  }
  int from = 0;
  CHECK(orStreamGetDevice(array.stream, &from));
  CHECK(orSetDevice(from));
  orEvent_t event;
  constexpr unsigned int kFlags[] = {
      orEventDefault, orEventDisableTiming, unsigned{orEventDisableTiming} | orEventInterprocess};
  CHECK(orEventCreateWithFlags(&event, kFlags[random(std::size(kFlags))]));
  CHECK(orEventRecord(event, array.stream));
  CHECK(orStreamWaitEvent(stream, event, 0));
  CHECK(orEventDestroy(event)); // While it is queued.
  array.stream = stream;
  ++counts_.events;
}

std::optional<Player::Pair> Player::pickPair(bool sameDevice) {
  Array& to = *pick();
  Array* from = pickLike(to, sameDevice);
  if (from == nullptr) {
    return std::nullopt;
  }
  const orStream_t stream = pickStream(random(2) == 0 ? to.device : from->device);
  moveTo(to, stream);
  moveTo(*from, stream);
  return Pair{to, *from, stream, std::min(to.model.size(), from->model.size())};
}

void Player::expect(const Array& array, const int64_t* got, const char* where) {
  require(std::equal(array.model.begin(), array.model.end(), got), where, "the device has other values than the model");
  ++counts_.comparisons;
}

void Player::fill() {
  Array& array = *pick();
  moveTo(array, pickStream(array.device));
  const int64_t step = 1 + random(3); // Every step-th element.
  const int64_t value = static_cast<int64_t>(engine_());
  k::FillArgs args{};
  args.dst = array.data;
  std::memcpy(args.value, &value, sizeof(value));
  args.elementSize = sizeof(value);
  args.dims = 1;
  args.sizes[0] = (static_cast<int64_t>(array.model.size()) + step - 1) / step;
  args.strides[0] = step * static_cast<int64_t>(sizeof(value));
  const orPointerArg pointer =
      k::stridedPointer(offsetof(k::FillArgs, dst), orAccessWrite, 1, args.sizes, args.strides, args.elementSize);
  CHECK(orLaunchKernel(
      shared_.devices[static_cast<size_t>(array.device)].fill, &args, sizeof(args), &pointer, 1, array.stream));
  for (size_t i = 0; i < array.model.size(); i += static_cast<size_t>(step)) {
    array.model[i] = value;
  }
  ++counts_.launches;
}

void Player::reverse() {
  const auto pair = pickPair(true);
  if (!pair) {
    return;
  }
  const auto& [to, from, stream, count] = *pair;
  k::CopyArgs args{};
  args.dst = to.data;
  args.src = from.data + count - 1;
  args.elementSize = sizeof(int64_t);
  args.dims = 1;
  args.sizes[0] = static_cast<int64_t>(count);
  args.dstStrides[0] = sizeof(int64_t);
  args.srcStrides[0] = -static_cast<int64_t>(sizeof(int64_t));
  const orPointerArg pointers[] = {
      k::stridedPointer(offsetof(k::CopyArgs, dst), orAccessWrite, 1, args.sizes, args.dstStrides, args.elementSize),
      k::stridedPointer(offsetof(k::CopyArgs, src), orAccessRead, 1, args.sizes, args.srcStrides, args.elementSize)};
  CHECK(orLaunchKernel(
      shared_.devices[static_cast<size_t>(to.device)].copy, &args, sizeof(args), pointers, std::size(pointers),
      stream));
  std::reverse_copy(from.model.begin(), from.model.begin() + static_cast<ptrdiff_t>(count), to.model.begin());
  ++counts_.launches;
}

void Player::events() {
  const Array& array = *pick();
  CHECK(orSetDevice(array.device));
  orEvent_t first;
  orEvent_t last;
  CHECK(orEventCreate(&first));
  CHECK(orEventCreate(&last));
  CHECK(orEventQuery(first)); // Never recorded.
  CHECK(orEventRecord(first, array.stream));
  CHECK(orEventRecord(last, pickStream(array.device)));
  CHECK(orEventRecord(last, array.stream)); // A new version.
  const orError_t state = orEventQuery(last);
  require(state == orSuccess || state == orErrorNotReady, "orEventQuery", orGetErrorName(state));
  CHECK(orEventSynchronize(last));
  CHECK(orEventQuery(first)); // The same stream, earlier.
  float milliseconds = -1;
  CHECK(orEventElapsedTime(&milliseconds, first, last));
  require(milliseconds >= 0, "orEventElapsedTime");
  CHECK(orEventDestroy(first));
  CHECK(orEventDestroy(last));
  require(orEventQuery(last) == orErrorInvalidHandle, "a destroyed event is found out");
  counts_.events += 3;
}

void Player::streams() {
  if (ownStreams_.size() < kMaxStreams) {
    const int device = static_cast<int>(random(static_cast<int64_t>(shared_.devices.size())));
    CHECK(orSetDevice(device));
    orStream_t stream;
    CHECK(orStreamCreateWithPriority(&stream, orStreamDefault, static_cast<int>(random(3)) - 1));
    ownStreams_.emplace_back(device, stream);
    return;
  }
  const auto at = ownStreams_.begin() + random(static_cast<int64_t>(ownStreams_.size()));
  const auto [device, stream] = *at;
  for (const auto& array : arrays_) {
    if (array->stream == stream) {
      moveTo(*array, shared_.devices[static_cast<size_t>(device)].streams.front());
    }
  }
  CHECK(orStreamDestroy(stream)); // Its work goes on.
  require(orStreamQuery(stream) == orErrorInvalidHandle, "a destroyed stream is found out");
  ownStreams_.erase(at);
}

void Player::hostFunction() {
  CHECK(orLaunchHostFunc(pick()->stream, &count, &called_));
  ++toBeCalled_;
  ++counts_.hostFunctions;
}

void Player::synchronize() {
  const Array& array = *pick();
  if (random(4) == 0) {
    CHECK(orDeviceSynchronize(array.device));
  } else {
    CHECK(orStreamSynchronize(array.stream));
  }
  const orError_t state = orStreamQuery(array.stream); // Others may have filled it since.
  require(state == orSuccess || state == orErrorNotReady, "orStreamQuery", orGetErrorName(state));
}

void Player::play(int operations) {
  using Operation = void (Player::*)();
  static constexpr Operation kOperations[] = {
      &Player::allocate, &Player::release, &Player::upload,   &Player::uploadPinned, &Player::download,
      &Player::fill,     &Player::add,     &Player::add,      &Player::add,          &Player::downloadPinned,
      &Player::reverse,  &Player::fill,    &Player::setBytes, &Player::copyOnDevice, &Player::copyToPeer,
      &Player::events,   &Player::streams, &Player::allocate, &Player::hostFunction, &Player::synchronize,
      &Player::share,    &Player::replay,
  };
  for (int i = 0; i < operations; ++i) {
    (this->*kOperations[random(std::size(kOperations))])();
    ++counts_.operations;
  }
}

void Player::finish() {
  for (const auto& array : arrays_) {
    std::vector<int64_t> got(array->model.size());
    CHECK(orMemcpyWithStream(got.data(), array->data, bytesOf(array->model), orMemcpyDeviceToHost, array->stream));
    expect(*array, got.data(), "comparison at the end");
  }
  for (size_t device = 0; device < shared_.devices.size(); ++device) {
    CHECK(orDeviceSynchronize(static_cast<int>(device)));
  }
  require(called_ == toBeCalled_, "every host function was called once");
  while (!arrays_.empty()) {
    release();
  }
  for (const auto& own : ownStreams_) {
    CHECK(orStreamDestroy(own.second));
  }
  ownStreams_.clear();
}

} // namespace stress
