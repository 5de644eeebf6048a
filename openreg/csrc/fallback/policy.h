// What the fallback may serve, who serves it, and a count of what was served.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/macros/Export.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace openreg {

// LITERALINCLUDE START: FALLBACK MODE
/** @brief Serves a call of any operator: takes its arguments from the stack, and leaves its results there. */
using ServeFallback = void (*)(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/**
 * @brief A mode of the fallback, made known by a static object. A library that is loaded later may have one, too; it
 * stays loaded.
 */
class FallbackMode {
 public:
  /**
   * @param name For setFallbackMode().
   * @param serve Called by any thread, for each call that admitFallback() admits in this mode.
   */
  C10_EXPORT FallbackMode(const char* name, ServeFallback serve);
};
// LITERALINCLUDE END: FALLBACK MODE

// LITERALINCLUDE START: CPU VERSION
/**
 * @brief What computes an operator on the CPU if the CPU has no kernel of its name, or if that does not know all that
 * it has to. It serves in every mode but "raise".
 *
 * Made known by a static object. That does not register the operator: where a kernel of PyTorch's comes before the
 * fallback, register fallback() for the operator's name.
 */
class CpuVersion {
 public:
  /**
   * @param op Name of the operator, with overload; in the namespace aten.
   * @param serve Called by any thread, for each call that admitFallback() admits.
   */
  C10_EXPORT CpuVersion(const char* op, ServeFallback serve);
};
// LITERALINCLUDE END: CPU VERSION

// LITERALINCLUDE START: FALLBACK POLICY
/**
 * @brief Counts a call of an operator that has no kernel here, or refuses it.
 *
 * Any thread; settings and counts are the process's, because the backward pass runs in threads of the autograd engine.
 * @return Who serves it: the operator's CpuVersion, or else the mode that is set.
 * @throws c10::NotImplementedError that names the operator, if it is blocked or all fallbacks are refused.
 */
ServeFallback admitFallback(const c10::OperatorName& op);

/** @brief Calls served by the fallback since the start or the last reset, by operator ("aten::sin.out"). */
C10_EXPORT std::unordered_map<std::string, int64_t> fallbackCounts();

/** @brief Sets all counts to zero. */
C10_EXPORT void resetFallbackCounts();

/**
 * @brief Chooses who serves fallbacks from now on: "cpu", "raise" for nobody, or any other FallbackMode.
 * @return The mode before.
 * @throws c10::ValueError that lists the modes there are.
 */
C10_EXPORT std::string setFallbackMode(std::string mode);

/**
 * @brief Refuses all fallbacks, whatever the mode, until endNoFallback() has been called as often as this.
 *
 * It counts: periods of several threads may overlap in any way, and a mode that each of them saved would come back
 * wrong.
 */
C10_EXPORT void beginNoFallback();
C10_EXPORT void endNoFallback();

/** @brief From now on this operator's fallback is refused (true) or served (false). @param op Name as in
 * fallbackCounts(). */
C10_EXPORT void blockFallback(const std::string& op, bool block);
// LITERALINCLUDE END: FALLBACK POLICY

} // namespace openreg
