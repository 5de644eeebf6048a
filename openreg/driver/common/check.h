// Checking mode: says which allocation a host access to device memory hit.
#pragma once

#include <cstddef>

namespace openreg {

/// Installs the SIGSEGV handler. It writes a line about the address and then does what would have been done without it.
void installFaultReport();

/// Book-keeping for the handler, which may take no lock; hence beside the allocator's own. Of the calls below, those
/// about allocations are made in checking mode only.
void noteAddresses(int device, const char* base, size_t size);
void noteAllocation(int device, const char* base, size_t size);
void noteFree(const char* base);

} // namespace openreg
