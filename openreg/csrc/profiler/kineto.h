// Kineto's headers: the library that PyTorch's profiler is made of.
#pragma once

#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <libkineto.h>
#include <output_base.h>
