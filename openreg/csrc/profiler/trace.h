// Records of the driver as the events of a trace.
#pragma once

#include "profiler/kineto.h"

#include "profiler/recorder.h"

#include <memory>
#include <set>

namespace openreg {

/// The operator of a number, as Kineto has recorded it; null if it isn't in the trace.
using FindOp = libkineto::getLinkedActivityCallback;

using ActivityTypes = std::set<libkineto::ActivityType>;

/// How a device is called in a trace.
libkineto::DeviceInfo nameOfDevice(int device);

/**
 * @brief Writes records into a trace: calls on the tracks of their threads, work on those of its streams.
 * @param wanted The types that the user has asked for; what is of another is left out.
 * @return What the logger refers to, to be kept as long as the trace.
 */
std::unique_ptr<libkineto::CpuTraceBuffer> writeTrace(
    const Recorder& recorder, const ActivityTypes& wanted, const FindOp& findOp, libkineto::ActivityLogger& logger);

} // namespace openreg
