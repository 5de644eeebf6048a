// A GPU has one form of each loop.
#pragma once

#define OPENREG_MULTIVERSION
#define OPENREG_INLINE
