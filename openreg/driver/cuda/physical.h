// The bytes behind a device's addresses.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "library.h"

namespace openreg::cuda {

class Device;

/// A device reserves its addresses once, and after a reset others: so no later pointer equals a stale one. Bytes come
/// behind them when memory is allocated there first, in whole pages, and stay for the next who is given the addresses:
/// mapping pages takes the time of many launches.
class Physical {
 public:
  explicit Physical(const Device& device) : device_(device) {}

  static constexpr size_t kPage = size_t{2} << 20;

  /// Reserves so many addresses; their first.
  char* reserve(size_t bytes);

  /// Puts bytes behind [base, base + size); false if the device has not enough.
  bool back(const char* base, size_t size);

  /// Takes all bytes away. The addresses stay reserved for ever.
  void drop();

 private:
  struct Piece {
    CUdeviceptr address;
    size_t bytes;
    CUhandle handle;
  };
  bool map(size_t firstPage, size_t lastPage);

  const Device& device_;
  std::mutex mutex_; ///< Guards what follows.
  char* begin_ = nullptr;
  std::vector<bool> backed_; ///< By page.
  std::vector<Piece> pieces_;
};

} // namespace openreg::cuda
