// Which allocation an address lies in, for a device whose memory goes by numbers or whose library doesn't tell.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

namespace openreg::api {

/** @brief An allocation, and where an address lies in it. */
struct Place {
  int64_t handle = 0; ///< What the vendor's library calls the allocation.
  int device = 0;
  char* base = nullptr; ///< Its first address.
  size_t size = 0;
  size_t offset = 0;     ///< From `base`, in bytes.
  bool reserved = false; ///< Whether the range is the map's, and goes back to the system with the allocation.
};

/**
 * @brief The live allocations of all devices, by their addresses. Any thread. Blocks for no device.
 *
 * PyTorch computes with addresses and never reads through them. So an allocation that the vendor's library knows by a
 * number gets a range of addresses at which there is nothing (`add`): whoever does read there, on the host, is told at
 * once. One that has an address already keeps it (`note`): the device's memory, and in a map of its own the pinned
 * memory of the host.
 */
class AddressMap {
 public:
  /** @brief Gives an allocation a range of addresses. @return Null if there is none left. */
  char* add(int64_t handle, int device, size_t size) {
    void* base = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
      return nullptr;
    }
    const std::lock_guard lock(mutex_);
    places_[static_cast<char*>(base)] = {handle, device, static_cast<char*>(base), size, 0, true};
    return static_cast<char*>(base);
  }

  /** @brief Notes an allocation that has an address of the vendor's. The range stays the vendor's to give back. */
  void note(void* base, int device, size_t size, int64_t handle = 0) {
    const std::lock_guard lock(mutex_);
    places_[static_cast<char*>(base)] = {handle, device, static_cast<char*>(base), size, 0, false};
  }

  /** @brief The allocation around an address, if there is one. */
  std::optional<Place> find(const void* address) const {
    const std::lock_guard lock(mutex_);
    auto after = places_.upper_bound(static_cast<char*>(const_cast<void*>(address)));
    if (after == places_.begin()) {
      return std::nullopt;
    }
    Place place = std::prev(after)->second;
    place.offset = static_cast<size_t>(static_cast<const char*>(address) - place.base);
    return place.offset < place.size ? std::optional(place) : std::nullopt;
  }

  /** @brief Takes out the allocation that begins at an address. A range that was reserved for it is free again. */
  std::optional<Place> remove(void* base) {
    const std::lock_guard lock(mutex_);
    auto node = places_.extract(static_cast<char*>(base));
    if (node.empty()) {
      return std::nullopt;
    }
    if (node.mapped().reserved) {
      munmap(base, node.mapped().size);
    }
    return node.mapped();
  }

 private:
  mutable std::mutex mutex_;
  std::map<char*, Place> places_;
};

} // namespace openreg::api
