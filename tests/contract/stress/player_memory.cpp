// The stress program's operations on memory: allocations, copies in every direction, bytes set.
#include "player.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "check.h"

namespace stress {

namespace {
constexpr size_t kMaxArrays = 24;
constexpr int64_t kMaxElements = 4096;
constexpr int64_t kLargeElements = 200'000; // Enough for the compute pool.
} // namespace

void Player::allocate() {
  if (arrays_.size() >= kMaxArrays) {
    return release();
  }
  auto array = std::make_unique<Array>();
  array->device = static_cast<int>(random(static_cast<int64_t>(shared_.devices.size())));
  const int64_t elements = random(50) == 0 ? kLargeElements : 1 + random(kMaxElements);
  array->model.assign(static_cast<size_t>(elements), random(1000));
  array->stream = pickStream(array->device);
  CHECK(orSetDevice(array->device));
  void* data = nullptr;
  CHECK(orMalloc(&data, bytesOf(array->model)));
  array->data = static_cast<int64_t*>(data);
  CHECK(orMemcpyWithStream(data, array->model.data(), bytesOf(array->model), orMemcpyDefault, array->stream));
  arrays_.push_back(std::move(array));
}

void Player::release() {
  if (!arrays_.empty()) {
    const auto at = arrays_.begin() + random(static_cast<int64_t>(arrays_.size()));
    CHECK(orFree((*at)->data)); // Waits for what still uses it.
    arrays_.erase(at);
  }
}

/// Its bytes may move then, and with them what queued and running work does to them.
void Player::share() {
  orIpcMemHandle handle;
  CHECK(orIpcGetMemHandle(&handle, pick()->data));
}

void Player::upload() {
  Array& array = *pick();
  moveTo(array, pickStream(array.device));
  std::ranges::generate(array.model, [&] { return static_cast<int64_t>(engine_()); });
  CHECK(orMemcpyWithStream(array.data, array.model.data(), bytesOf(array.model), orMemcpyHostToDevice, array.stream));
  ++counts_.copies;
}

void Player::uploadPinned() {
  Array& array = *pick();
  moveTo(array, pickStream(array.device));
  std::ranges::generate(array.model, [&] { return static_cast<int64_t>(engine_()); });
  void* pinned = nullptr;
  CHECK(orMallocHost(&pinned, bytesOf(array.model)));
  std::memcpy(pinned, array.model.data(), bytesOf(array.model));
  CHECK(orMemcpyAsync(array.data, pinned, bytesOf(array.model), orMemcpyHostToDevice, array.stream));
  CHECK(orFreeHost(pinned)); // Blocks until the copy is done.
  ++counts_.copies;
}

void Player::download() {
  Array& array = *pick();
  moveTo(array, pickStream(array.device));
  std::vector<int64_t> got(array.model.size());
  CHECK(orMemcpyWithStream(got.data(), array.data, bytesOf(array.model), orMemcpyDeviceToHost, array.stream));
  expect(array, got.data(), "synchronous copy to the host");
  ++counts_.copies;
}

void Player::downloadPinned() {
  Array& array = *pick();
  moveTo(array, pickStream(array.device));
  void* pinned = nullptr;
  CHECK(orMallocHost(&pinned, bytesOf(array.model)));
  CHECK(orMemcpyAsync(pinned, array.data, bytesOf(array.model), orMemcpyDefault, array.stream));
  CHECK(orStreamSynchronize(array.stream));
  expect(array, static_cast<int64_t*>(pinned), "asynchronous copy to the host");
  CHECK(orFreeHost(pinned));
  ++counts_.copies;
}

void Player::copyOnDevice() {
  const auto pair = pickPair(true);
  if (!pair) {
    return;
  }
  const auto& [to, from, stream, count] = *pair;
  CHECK(orMemcpyAsync(to.data, from.data, count * sizeof(int64_t), orMemcpyDeviceToDevice, stream));
  std::copy_n(from.model.begin(), count, to.model.begin());
  ++counts_.copies;
}

void Player::copyToPeer() {
  const auto pair = pickPair(false);
  if (!pair) {
    return;
  }
  const auto& [to, from, stream, count] = *pair;
  CHECK(orMemcpyPeerAsync(to.data, to.device, from.data, from.device, count * sizeof(int64_t), stream));
  std::copy_n(from.model.begin(), count, to.model.begin());
  ++counts_.copies;
  moveTo(to, pickStream(to.device)); // Kernels run on streams of the array's own device.
  moveTo(from, pickStream(from.device));
}

void Player::setBytes() {
  Array& array = *pick();
  moveTo(array, pickStream(array.device));
  const int value = static_cast<int>(random(256));
  CHECK(orMemsetAsync(array.data, value, bytesOf(array.model), array.stream));
  std::memset(array.model.data(), value, bytesOf(array.model));
}

} // namespace stress
