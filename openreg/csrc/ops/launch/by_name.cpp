// Kernels that are launched by programs, which know their names at run time only.
#include "ops/launch/by_name.h"

#include "ops/launch/kernel.h"

#include <kernels/launch/pointers.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace openreg {
namespace {

/// The kernel of a name. It remembers its handles, so there is one for all launches, and for as long as there may be
/// one.
const Kernel& kernelNamed(const std::string& name) {
  static auto& mutex = *new std::mutex;
  static auto& kernels = *new std::unordered_map<std::string, std::unique_ptr<const Kernel>>;
  const std::lock_guard lock(mutex);
  const auto place = kernels.try_emplace(name).first; // its key stays where it is
  if (place->second == nullptr) {
    place->second = std::make_unique<const Kernel>(place->first.c_str());
  }
  return *place->second;
}

orPointerArg pointerTo(const at::Tensor& tensor, size_t offset, bool writes) {
  c10::SmallVector<int64_t, 5> strides;
  for (const auto stride : tensor.strides()) {
    strides.push_back(stride * tensor.element_size());
  }
  const auto access = writes ? int{orAccessRead} | int{orAccessWrite} : int{orAccessRead};
  return kernels::stridedPointer(
      offset, static_cast<uint32_t>(access), static_cast<int>(tensor.dim()), tensor.sizes().data(), strides.data(),
      tensor.element_size());
}

} // namespace

void launchByName(const std::string& name, std::string args, const std::vector<PointedTensor>& tensors) {
  TORCH_CHECK(!tensors.empty(), "launch: kernel '", name, "' was given no tensor; expected one at least, to say where");
  const auto device = std::get<at::Tensor>(tensors.front()).device();
  std::vector<orPointerArg> pointers;
  for (const auto& [offset, tensor, writes] : tensors) {
    TORCH_CHECK(
        tensor.device() == device && tensor.is_privateuseone(), "launch: kernel '", name, "' was given a tensor on ",
        tensor.device(), "; expected all of them on one device of this backend");
    TORCH_CHECK(
        offset + sizeof(void*) <= args.size(), "launch: kernel '", name, "' was to have an address at byte ", offset,
        " of its arguments, and they have ", args.size());
    if (tensor.numel() > 0) {
      const void* data = tensor.const_data_ptr();
      std::memcpy(args.data() + offset, &data, sizeof(data));
      pointers.push_back(pointerTo(tensor, offset, writes));
    }
  }
  check(orLaunchKernel(
      kernelNamed(name).get(device.index()), args.data(), args.size(), pointers.data(), pointers.size(),
      currentStreamHandle(device.index())));
  for (const auto& [offset, tensor, writes] : tensors) {
    if (writes) {
      tensor.unsafeGetTensorImpl()->bump_version(); // A backward pass that has saved it has to find out.
    }
  }
}

} // namespace openreg
