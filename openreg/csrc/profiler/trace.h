// Records of the driver as the events of a trace.
#pragma once

#include "profiler/kineto.h"

#include "profiler/recorder.h"

#include <memory>
#include <vector>

namespace openreg {

/// The operator of a number, as Kineto has recorded it; null if it isn't in the trace.
using FindOp = libkineto::getLinkedActivityCallback;

/**
 * @brief Writes records into a trace: calls on the tracks of their threads, work on those of its streams.
 * @return What the logger refers to, to be kept as long as the trace.
 */
std::unique_ptr<libkineto::CpuTraceBuffer>
writeTrace(const std::vector<Recorded>& recorded, const FindOp& findOp, libkineto::ActivityLogger& logger);

} // namespace openreg
