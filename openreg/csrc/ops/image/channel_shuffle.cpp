// channel_shuffle: the channels of an image, dealt out anew among groups.

#include "ops/structured/plain.h"

#include <ATen/ops/channel_shuffle_native.h>
#include <torch/library.h>

namespace openreg {
namespace {

/// What channel_shuffle calls. PyTorch's default takes views only.
at::Tensor shuffleChannels(const at::Tensor& self, int64_t groups) {
  const auto channels = self.size(1);
  const auto parts = self.reshape({self.size(0), groups, channels / groups, -1});
  return parts.transpose(1, 2).reshape(self.sizes()).contiguous(self.suggest_memory_format());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"channel_shuffle", at::native::channel_shuffle>(m);
  implPlain<"native_channel_shuffle", shuffleChannels>(m);
}

} // namespace
} // namespace openreg
