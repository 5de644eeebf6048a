// Random operators on the CPU, with numbers that the device's generator decides.
#include "fallback/fallback.h"
#include "fallback/policy.h"
#include "fallback/same_device.h"
#include "random/generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <mutex>

namespace openreg {
namespace {

// LITERALINCLUDE START: DRAW ON CPU
/// A generator for the CPU whose seed is the next number of a device's: what the device's is seeded with, or set to,
/// decides what is drawn here, too.
at::Generator seededBy(const kernels::PhiloxRange& numbers) {
  uint32_t words[4];
  kernels::drawBlock(numbers, 0, words);
  return at::detail::createCPUGenerator(uint64_t{words[0]} << 32 | words[1]);
}

/// A call that fails takes no numbers, unless another thread has drawn since.
void giveBack(Generator& generator, const kernels::PhiloxRange& numbers) {
  const std::lock_guard lock(generator.mutex_);
  if (numbers.captured == nullptr && generator.get_offset() == numbers.offset + 1) {
    generator.set_offset(numbers.offset);
  }
}

/// Serves an operator that takes a generator. The CPU's kernel refuses the device's, and without one it would
/// draw from its own.
void drawOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& parameters = op.schema().arguments();
  const auto place = std::find_if(parameters.begin(), parameters.end(), [](const c10::Argument& parameter) {
    return parameter.type()->isSubtypeOf(*c10::OptionalType::create(c10::GeneratorType::get()));
  });
  auto& argument = *(stack->end() - (parameters.end() - place));
  const auto device = deviceOf(op, *stack)->index(); // whatever reaches the fallback has a tensor here
  auto& generator = generatorFor(argument.toOptional<at::Generator>(), device);
  const auto numbers = generator.reserve(1);
  argument = seededBy(numbers);
  try {
    serveOnCpu(op, stack);
  } catch (...) {
    giveBack(generator, numbers);
    throw;
  }
}

// All that have a CPU kernel; the others are written in terms of these.
[[maybe_unused]] const CpuVersion versions[] = {
    {"_sample_dirichlet", drawOnCpu},
    {"_standard_gamma", drawOnCpu},
    {"bernoulli.out", drawOnCpu},
    {"bernoulli_.Tensor", drawOnCpu},
    {"bernoulli_.float", drawOnCpu},
    {"binomial", drawOnCpu},
    {"cauchy_", drawOnCpu},
    {"exponential_", drawOnCpu},
    {"geometric_", drawOnCpu},
    {"log_normal_", drawOnCpu},
    {"multinomial", drawOnCpu},
    {"multinomial.out", drawOnCpu},
    {"normal.Tensor_Tensor", drawOnCpu},
    {"normal.Tensor_Tensor_out", drawOnCpu},
    {"normal.Tensor_float", drawOnCpu},
    {"normal.Tensor_float_out", drawOnCpu},
    {"normal.float_Tensor", drawOnCpu},
    {"normal.float_Tensor_out", drawOnCpu},
    {"normal_", drawOnCpu},
    {"poisson", drawOnCpu},
    {"random_", drawOnCpu},
    {"random_.from", drawOnCpu},
    {"random_.to", drawOnCpu},
    {"randperm.generator_out", drawOnCpu},
    {"rrelu_with_noise", drawOnCpu},
    {"rrelu_with_noise.out", drawOnCpu},
    {"rrelu_with_noise_", drawOnCpu},
    {"uniform_", drawOnCpu},
};
// LITERALINCLUDE END: DRAW ON CPU

} // namespace
} // namespace openreg
