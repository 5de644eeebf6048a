// What a tensor says about its numbers, beside its type and shape, and how it gets into a file and out of it.
#include "storage/metadata.h"

#include "device/device.h"
#include "device/device_name.h"
#include "storage/storage_impl.h"

#include <c10/util/Exception.h>
#include <torch/csrc/jit/serialization/pickler_helper.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <utility>

namespace openreg {
namespace {

// LITERALINCLUDE START: METADATA OF
const Metadata* metadataOf(const at::Tensor& tensor) {
  return dynamic_cast<const Metadata*>(tensor.unsafeGetTensorImpl()->get_backend_meta());
}

Metadata copyOfMetadata(const at::Tensor& tensor) {
  const auto* metadata = metadataOf(tensor);
  Metadata copy;
  if (metadata != nullptr) {
    copy.scale = metadata->scale;
    copy.others = metadata->others;
  }
  return copy;
}

void hang(const at::Tensor& tensor, Metadata metadata) {
  auto made = c10::make_intrusive<Metadata>();
  made->scale = metadata.scale;
  made->others = std::move(metadata.others);
  tensor.unsafeGetTensorImpl()->set_backend_meta(std::move(made));
}
// LITERALINCLUDE END: METADATA OF

// LITERALINCLUDE START: METADATA FILE
using Entries = std::unordered_map<std::string, bool>;

const std::string kScale = std::string(kDeviceName) + ".scale=";
const std::string kLabel = std::string(kDeviceName) + ".label=";

/// PyTorch writes a map of names to true or false. A number or a text fits into the name only.
void save(const at::Tensor& tensor, Entries& entries) {
  if (const auto* metadata = metadataOf(tensor)) {
    entries.insert(metadata->others.begin(), metadata->others.end());
    if (metadata->scale) {
      std::array<char, 32> text{};
      (void)std::snprintf(text.data(), text.size(), "%a", *metadata->scale); // every bit of it
      entries[kScale + text.data()] = true;
    }
  }
  if (const auto label = labelOf(tensor); !label.empty()) {
    entries[kLabel + label] = true;
  }
}

double parseScale(const std::string& entry) {
  const auto text = entry.substr(kScale.size());
  char* end = nullptr;
  const double scale = std::strtod(text.c_str(), &end);
  TORCH_CHECK(
      !text.empty() && *end == '\0' && std::isfinite(scale) && scale > 0, kDeviceName, ": a file's metadata has '",
      entry, "'; expected a positive number behind the equals sign");
  return scale;
}

/// A file may be anybody's: whatever is not ours is kept as it is, and what is ours is checked.
void load(const at::Tensor& tensor, Entries& entries) {
  Metadata metadata;
  for (const auto& [name, value] : entries) {
    if (name.starts_with(kScale)) {
      metadata.scale = parseScale(name);
    } else if (name.starts_with(kLabel)) {
      setLabelOf(tensor, name.substr(kLabel.size()));
    } else {
      metadata.others.emplace(name, value);
    }
  }
  hang(tensor, std::move(metadata));
}

// PyTorch accepts one pair of functions in a process.
[[maybe_unused]] const bool metadataRegistered = [] {
  torch::jit::TensorBackendMetaRegistry(kDeviceType, save, load);
  return true;
}();
// LITERALINCLUDE END: METADATA FILE

} // namespace

// LITERALINCLUDE START: SCALE
std::optional<double> scaleOf(const at::Tensor& tensor) {
  const auto* metadata = metadataOf(tensor);
  return metadata == nullptr ? std::nullopt : metadata->scale;
}

void setScaleOf(const at::Tensor& tensor, std::optional<double> scale) {
  TORCH_CHECK_VALUE(
      !scale || (std::isfinite(*scale) && *scale > 0), "set_scale: argument 'scale' is ", *scale,
      "; expected a positive number");
  auto metadata = copyOfMetadata(tensor);
  metadata.scale = scale;
  hang(tensor, std::move(metadata));
}
// LITERALINCLUDE END: SCALE

} // namespace openreg
