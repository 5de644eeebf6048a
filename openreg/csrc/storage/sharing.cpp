// Memory shared between processes: PyTorch's storages over the contract's handles.
#include "storage/sharing.h"

#include "device/current_device.h"
#include "device/device_name.h"
#include "device/error.h"

#include <c10/core/StorageImpl.h>

#include <unistd.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace openreg {

namespace {

// LITERALINCLUDE START: OPEN ALLOCATION
/// An allocation of another process, open here as long as somebody has this.
class OpenAllocation {
 public:
  OpenAllocation(const std::string& handle, c10::Device device) {
    orIpcMemHandle given;
    std::memcpy(&given, handle.data(), sizeof(given));
    CurrentDevice current;
    current.set(device.index());
    check(orIpcOpenMemHandle(&base_, &given));
    orPointerAttributes about{};
    const orError_t error = orPointerGetAttributes(&about, base_);
    if (error != orSuccess) {
      (void)orIpcCloseMemHandle(base_); // There will be no destructor.
    }
    check(error);
    size_ = about.size;
  }
  ~OpenAllocation() { (void)orIpcCloseMemHandle(base_); } // It waits for the device. A destructor can't report.
  OpenAllocation(const OpenAllocation&) = delete;
  OpenAllocation& operator=(const OpenAllocation&) = delete;

  char* base() const { return static_cast<char*>(base_); }
  size_t size() const { return size_; }

 private:
  void* base_ = nullptr;
  size_t size_ = 0;
};

/// The caching allocator puts many tensors into one allocation, and a driver need not open it more than once.
std::shared_ptr<OpenAllocation> openAllocation(const std::string& handle, c10::Device device) {
  static auto& mutex = *new std::mutex;
  static auto& open = *new std::map<std::pair<std::string, c10::DeviceIndex>, std::weak_ptr<OpenAllocation>>;
  const std::lock_guard lock(mutex);
  std::erase_if(open, [](const auto& it) { return it.second.expired(); });
  auto& known = open[{handle, device.index()}];
  auto allocation = known.lock();
  if (allocation == nullptr) {
    allocation = std::make_shared<OpenAllocation>(handle, device);
    known = allocation;
  }
  return allocation;
}
// LITERALINCLUDE END: OPEN ALLOCATION

/// A descriptor whose end is a message: nobody here uses the memory any more.
class Done {
 public:
  explicit Done(int descriptor) : descriptor_(descriptor) {}
  ~Done() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Done(const Done&) = delete;
  Done& operator=(const Done&) = delete;

 private:
  const int descriptor_;
};

// LITERALINCLUDE START: OPENED DELETER
/// What an opened storage holds. Members end in the reverse order: the other process hears last.
struct Opened {
  const Done done;
  const c10::DeviceIndex device;
  std::shared_ptr<OpenAllocation> allocation;
  Opened* next = nullptr; ///< In the list below.
};

/// Ends what storages held, in a thread of its own. Kernels that use the memory may be queued, and the other process
/// may use it anew once it hears of us: so somebody has to wait for the device. That can't be the thread in which a
/// tensor dies. It has Python's GIL, and what the device runs next may need that.
class Closer {
 public:
  void close(Opened* opened) noexcept {
    const std::lock_guard lock(mutex_);
    opened->next = std::exchange(waiting_, opened);
    try {
      if (!std::exchange(working_, true)) {
        std::thread([this] { work(); }).detach();
      }
    } catch (const std::system_error&) {
      working_ = false; // The machine has no thread left; the next storage that dies tries again.
    }
  }

 private:
  void work() {
    while (const std::unique_ptr<Opened> opened{take()}) {
      (void)orDeviceSynchronize(opened->device); // An error is the business of whoever synchronises next.
    }
  }

  Opened* take() {
    const std::lock_guard lock(mutex_);
    Opened* first = waiting_;
    working_ = first != nullptr;
    waiting_ = first != nullptr ? first->next : nullptr;
    return first;
  }

  std::mutex mutex_;
  Opened* waiting_ = nullptr;
  bool working_ = false; ///< Whether there is a thread: it ends when nothing waits.
};

void closeOpened(void* context) {
  static auto& closer = *new Closer; // Storages die after static objects do.
  if (!inBadFork()) {                // Else the device is the parent's, and so is the message.
    closer.close(static_cast<Opened*>(context));
  }
}
// LITERALINCLUDE END: OPENED DELETER

} // namespace

// LITERALINCLUDE START: SHARE STORAGE
SharedStorage shareStorage(const c10::Storage& storage) {
  TORCH_CHECK(
      storage.device_type() == kDeviceType, "share: argument 'storage' is on ", storage.device(),
      "; expected a device of ", kDeviceName);
  TORCH_CHECK(
      !isOpenedStorage(storage),
      "share: argument 'storage' lies in memory that another process shares with this one, and whose life this one "
      "cannot answer for; expected memory of this process: send a clone()");
  SharedStorage shared;
  orPointerAttributes about{};
  check(orPointerGetAttributes(&about, storage.data()));
  orIpcMemHandle handle;
  check(orIpcGetMemHandle(&handle, about.base));
  shared.handle.assign(reinterpret_cast<const char*>(&handle), sizeof(handle));
  shared.offset = static_cast<size_t>(static_cast<const char*>(storage.data()) - static_cast<const char*>(about.base));
  synchronize(storage.device().index());
  return shared;
}
// LITERALINCLUDE END: SHARE STORAGE

// LITERALINCLUDE START: OPEN STORAGE
c10::Storage openStorage(const SharedStorage& shared, size_t size, c10::Device device, int done) {
  auto opened = std::unique_ptr<Opened>(new Opened{Done(done), device.index(), nullptr, nullptr});
  TORCH_CHECK(
      shared.handle.size() == sizeof(orIpcMemHandle), "open: argument 'handle' has ", shared.handle.size(),
      " bytes; expected the ", sizeof(orIpcMemHandle), " of share()");
  opened->allocation = openAllocation(shared.handle, device);
  const size_t room = opened->allocation->size();
  TORCH_CHECK(
      shared.offset <= room && size <= room - shared.offset, "open: a storage of ", size, " bytes at offset ",
      shared.offset, " does not fit into the ", room, " bytes that argument 'handle' names");
  void* data = opened->allocation->base() + shared.offset;
  return c10::Storage(
      c10::make_storage_impl(
          c10::StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(size)),
          c10::DataPtr(data, opened.release(), closeOpened, device), nullptr, /*resizable=*/false, device));
}
// LITERALINCLUDE END: OPEN STORAGE

bool isOpenedStorage(const c10::Storage& storage) {
  return storage.data_ptr().get_deleter() == closeOpened;
}

} // namespace openreg
