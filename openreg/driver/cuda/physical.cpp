// The bytes behind a device's addresses.
#include "physical.h"

#include <algorithm>

#include "driver.h"

namespace openreg::cuda {

char* Physical::reserve(size_t bytes) {
  const std::lock_guard lock(mutex_);
  CUdeviceptr address = 0;
  OPENREG_CUDA(cuMemAddressReserve, &address, bytes, kPage, 0, 0);
  begin_ = reinterpret_cast<char*>(address);
  backed_.assign(bytes / kPage, false);
  return begin_;
}

bool Physical::back(const char* base, size_t size) {
  const std::lock_guard lock(mutex_);
  const size_t first = static_cast<size_t>(base - begin_) / kPage;
  const size_t last = (static_cast<size_t>(base - begin_) + size + kPage - 1) / kPage;
  for (size_t page = first; page < last; ++page) {
    size_t end = page;
    while (end < last && !backed_[end]) {
      ++end;
    }
    if (end > page && !map(page, end)) {
      return false;
    }
    page = end;
  }
  return true;
}

bool Physical::map(size_t firstPage, size_t lastPage) {
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, device_.cuda_};
  const CUmemAllocationProp wanted{CU_MEM_ALLOCATION_TYPE_PINNED, 0, here, nullptr, {}};
  Piece piece{reinterpret_cast<CUdeviceptr>(begin_) + firstPage * kPage, (lastPage - firstPage) * kPage, 0};
  const CUresult result = library().cuMemCreate(&piece.handle, piece.bytes, &wanted, 0);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    return false;
  }
  refuseUnless(result, "cuMemCreate");
  OPENREG_CUDA(cuMemMap, piece.address, piece.bytes, 0, piece.handle, 0);
  pieces_.push_back(piece);
  std::vector<CUmemAccessDesc> who; // All that can; whom the contract lets in, a launch finds out.
  for (const auto& device : Cuda::instance().devices) {
    const auto isSame = [&](const auto& it) { return it.location.id == device->cuda_; }; // One GPU, several devices.
    if (device->known_ && device->reaches(device_) && std::ranges::none_of(who, isSame)) {
      who.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, device->cuda_}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    }
  }
  OPENREG_CUDA(cuMemSetAccess, piece.address, piece.bytes, who.data(), who.size());
  for (size_t page = firstPage; page < lastPage; ++page) {
    backed_[page] = true;
  }
  return true;
}

void Physical::drop() {
  const std::lock_guard lock(mutex_);
  for (const Piece& piece : pieces_) { // A broken context refuses, and has taken its memory with it.
    (void)library().cuMemUnmap(piece.address, piece.bytes);
    (void)library().cuMemRelease(piece.handle);
  }
  pieces_.clear();
  backed_.clear();
}

} // namespace openreg::cuda
