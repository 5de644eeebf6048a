// What the fallback may serve, and a count of what it has served.
#pragma once

#include <ATen/core/operator_name.h>
#include <c10/macros/Export.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace openreg {

// LITERALINCLUDE START: FALLBACK POLICY
/**
 * @brief Counts a call of an operator that has no kernel here, or refuses it.
 *
 * Any thread; settings and counts are the process's, because the backward pass runs in threads of the autograd engine.
 * @return Who is to serve it: the mode.
 * @throws c10::NotImplementedError that names the operator, if it is blocked or all fallbacks are refused.
 */
std::string admitFallback(const c10::OperatorName& op);

/** @brief Calls served by the fallback since the start or the last reset, by operator ("aten::sin.out"). */
C10_EXPORT std::unordered_map<std::string, int64_t> fallbackCounts();

/** @brief Sets all counts to zero. */
C10_EXPORT void resetFallbackCounts();

/** @brief Chooses what serves fallbacks from now on; "raise" refuses them. @return The mode before. */
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
