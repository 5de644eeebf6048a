// Registration of kernels whose arguments are strided operands.
#pragma once

#include "kernels/launch/operand.h"
#include "kernels/launch/registry.h"

namespace openreg::kernels {

/// An Entry with StridedArgs, of which a launch sends what is used.
template <Name name, orKernelFn function>
class StridedEntry : public Entry<name, StridedArgs, offsetof(StridedArgs, packed), function> {};

} // namespace openreg::kernels
