// The table of NVIDIA's GPUs.
#include "common/table.h"
#include "api/built_in.h"
#include "driver.h"

namespace openreg::cuda {

namespace {

void getDeviceCount(int* count) {
  DeviceCalls<Cuda>::getDeviceCount(count);
  if (*count == 0) {
    orDriverError(orErrorInvalidDevice, "no device: %s", Cuda::instance().whyNone().c_str());
  }
}

} // namespace

} // namespace openreg::cuda

namespace openreg::api {

constinit const BuiltIn cudaDriver = [] {
  BuiltIn it{tableOf<cuda::Cuda>("cuda"), nullptr};
  it.table.GetDeviceCount = guarded<cuda::getDeviceCount>;
  // Records of work want CUPTI, which is another library.
  it.table.ActivitySubscribe = nullptr;
  it.table.ActivityUnsubscribe = nullptr;
  return it;
}();

} // namespace openreg::api
