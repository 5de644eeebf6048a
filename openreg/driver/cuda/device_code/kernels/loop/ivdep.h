// Threads of a GPU take the place of vectors: there is nothing to say of a loop.
#pragma once

#define OPENREG_IVDEP
