// Kernels that were compiled at run time: arguments, loading, launch.
#include "compile/compiled_kernel.h"

#include "device/error.h"
#include "device/reset.h"
#include "stream/handle.h"

#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include <utility>

namespace openreg {

// LITERALINCLUDE START: ADD ARGUMENTS
char CompiledArguments::kind() const {
  TORCH_CHECK(
      count_ < kernel_.kinds().size(), "kernel '", kernel_.name(), "' was given more than its ", count_, " arguments");
  return kernel_.kinds()[count_];
}

CompiledArguments::Slot& CompiledArguments::next() {
  (void)kind(); // there is room for one
  return slots_[count_++];
}

void CompiledArguments::addInteger(int64_t value) {
  next().integer = value;
}

void CompiledArguments::addFloat(float value) {
  next().real = value;
}

void CompiledArguments::addTensor(const at::Tensor& tensor) {
  TORCH_CHECK(
      tensor.is_privateuseone(), "kernel '", kernel_.name(), "': argument ", count_, " is a tensor on ",
      tensor.device(), "; expected one on a device of this backend");
  TORCH_CHECK(
      device_ == -1 || device_ == tensor.device().index(), "kernel '", kernel_.name(), "': argument ", count_,
      " is a tensor on ", tensor.device(), "; those before it are on device ", static_cast<int>(device_));
  TORCH_CHECK(
      pointerCount_ < pointers_.size(), "kernel '", kernel_.name(), "' was given more than ", pointers_.size(),
      " tensors");
  device_ = tensor.device().index();
  const bool reads = kind() == 'r';
  // What is only read stays shared with its lazy copies.
  const void* first = reads ? tensor.const_data_ptr() : tensor.mutable_data_ptr();
  const auto before = first == nullptr ? 0 : tensor.storage_offset() * tensor.element_size();
  const int access = reads ? int{orAccessRead} : int{orAccessRead} | int{orAccessWrite};
  pointers_[pointerCount_++] = {
      static_cast<uint32_t>(count_ * sizeof(Slot)), static_cast<uint32_t>(access), -before,
      first == nullptr ? 0 : tensor.storage().nbytes()};
  next().pointer = first;
}
// LITERALINCLUDE END: ADD ARGUMENTS

CompiledKernel::CompiledKernel(std::string path, std::string name, std::string kinds)
    : path_(std::move(path)), name_(std::move(name)), kinds_(std::move(kinds)) {
  TORCH_CHECK(
      kinds_.size() <= CompiledArguments::kMost, "kernel '", name_, "' has ", kinds_.size(),
      " arguments; expected at most ", CompiledArguments::kMost);
  TORCH_CHECK(
      kinds_.find_first_not_of("rwif") == std::string::npos, "kernel '", name_, "': argument 'kinds' is '", kinds_,
      "'; expected letters of 'rwif'");
}

// LITERALINCLUDE START: LAUNCH COMPILED
void CompiledKernel::launch(const CompiledArguments& arguments) const {
  TORCH_CHECK(
      arguments.count_ == kinds_.size() && arguments.device_ != -1, "kernel '", name_, "' was given ", arguments.count_,
      " arguments, ", arguments.pointerCount_, " of them tensors; expected ", kinds_.size(),
      " and one tensor at least");
  const auto device = arguments.device_;
  check(orLaunchKernel(
      on(device), arguments.slots_.data(), arguments.count_ * sizeof(CompiledArguments::Slot),
      arguments.pointers_.data(), arguments.pointerCount_, currentStreamHandle(device)));
}

orKernel_t CompiledKernel::on(c10::DeviceIndex device) const {
  auto& [handle, life] = found_.at(static_cast<uint8_t>(device));
  if (C10_LIKELY(life.load(std::memory_order_acquire) == lifeOf(device))) {
    return handle.load(std::memory_order_relaxed);
  }
  // One at a time, so that nobody puts a handle of an earlier life over a later one. If a reset comes while this loads,
  // what it finds is kept as of the life before, and the next launch asks anew.
  const std::lock_guard lock(loading_);
  const auto now = lifeOf(device);
  const c10::DeviceGuard guard({kDeviceType, device}); // a module is loaded on the current device
  orModule_t module = nullptr;
  orKernel_t kernel = nullptr;
  check(orModuleLoad(&module, path_.c_str()));
  check(orModuleGetKernel(&kernel, module, name_.c_str()));
  handle.store(kernel, std::memory_order_relaxed);
  life.store(now, std::memory_order_release);
  return kernel;
}
// LITERALINCLUDE END: LAUNCH COMPILED

} // namespace openreg
