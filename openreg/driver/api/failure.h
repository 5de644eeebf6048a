// Planned failures: the n-th call of an entry returns an error, for tests of error paths.
#pragma once

#include "openreg.h"

namespace openreg::api {

/// True for the name of a function of openreg.h that returns orError_t and does something ("orMalloc").
bool isEntry(const char* name);

/// Plans that the n-th call of `entry` from now on returns `error`; 0 takes the plan back. The caller holds
/// configurationMutex.
void planFailure(const char* entry, int n, orError_t error);

/// Counts this call of `entry`; returns the planned error if its turn has come, else orSuccess.
orError_t dueFailure(const char* entry);

} // namespace openreg::api
