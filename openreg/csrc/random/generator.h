// The generator of random numbers: a seed, and how much of its sequence has been given away.
#pragma once

#include "device/device.h"

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>
#include <kernels/random/philox.h>

#include <cstdint>
#include <optional>

namespace openreg {

// LITERALINCLUDE START: GENERATOR
/**
 * @brief A generator for one device: torch.Generator("openreg").
 *
 * All of it is on the host. A call reserves the numbers it will need; the device computes them, whenever it gets there,
 * in whatever order. So seeding, saving a state and restoring it wait for nothing and change nothing that was queued.
 *
 * As with all of PyTorch's generators, callers hold `mutex_` around the functions that override; PyTorch's own do.
 */
class Generator final : public c10::GeneratorImpl {
 public:
  /** @param device Index of the device; made with c10::default_rng_seed_val, as every torch.Generator. */
  explicit Generator(c10::DeviceIndex device);

  /**
   * @brief Gives away the next part of the sequence.
   *
   * Takes `mutex_` itself, so that no two calls ever get the same numbers, from whichever threads they come.
   * @param blocks How many blocks of 128 bits.
   */
  kernels::PhiloxRange reserve(uint64_t blocks);

  /** @brief Starts the sequence of another seed. */
  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return seed_; }
  /** @brief Starts the sequence of an unpredictable seed. @return The seed. */
  uint64_t seed() override;

  /** @brief Goes to a place in the sequence: the number of blocks before it. */
  void set_offset(uint64_t offset) override { offset_ = offset; }
  uint64_t get_offset() const override { return offset_; }

  /**
   * @brief Seed and offset from 16 bytes of a state, or the seed alone from 8.
   * @throws c10::TypeError unless it is a ByteTensor on the CPU; c10::Error if it has another size.
   */
  void set_state(const c10::TensorImpl& state) override;
  /** @brief Seed and offset as 16 bytes, in a tensor on the CPU. */
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

 private:
  Generator* clone_impl() const override;

  uint64_t seed_ = c10::default_rng_seed_val;
  uint64_t offset_ = 0;
};
// LITERALINCLUDE END: GENERATOR

// LITERALINCLUDE START: DEFAULT GENERATOR
/**
 * @brief The generator from which operators without `generator=` draw. Made when it is first asked for, with a seed
 * that a program cannot foresee. Any thread; does not initialise the device.
 * @param device Index, or -1 for the current device.
 * @throws c10::Error if there is no such device.
 */
C10_EXPORT const at::Generator& defaultGenerator(c10::DeviceIndex device);

/**
 * @brief The generator for a call on `device`: the one given, or the device's default.
 * @throws c10::Error if the one given is of another type of device, or of another device.
 */
Generator& generatorFor(const std::optional<at::Generator>& given, c10::DeviceIndex device);
// LITERALINCLUDE END: DEFAULT GENERATOR

} // namespace openreg
