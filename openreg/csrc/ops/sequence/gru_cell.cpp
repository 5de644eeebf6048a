// The cell of a GRU, as that of an LSTM.
#include "ops/sequence/recurrent.h"
#include "ops/structured/plain.h"

#include <kernels/sequence/recurrent.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

using TwoTensors = std::tuple<at::Tensor, at::Tensor>;
using FiveTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

TwoTensors gruCell(
    const at::Tensor& inputGates,
    const at::Tensor& hiddenGates,
    const at::Tensor& hidden,
    const OptionalTensor& inputBias,
    const OptionalTensor& hiddenBias) {
  using Args = kernels::GruCellArgs;
  const auto args =
      describe<Args>("aten::_thnn_fused_gru_cell", 3, inputGates, hiddenGates, hidden, inputBias, hiddenBias);
  const auto newHidden = at::empty_like(hidden, at::MemoryFormat::Contiguous);
  const auto kept = at::empty({args.rows, 5 * args.size}, hidden.options());
  const ArrayOutput hiddenOut(newHidden), keptOut(kept);
  launchOverArrays(
      kernelFamily<"gru_cell">, inputGates, args,
      {reads("input_gates", &Args::inputGates, inputGates), reads("hidden_gates", &Args::hiddenGates, hiddenGates),
       reads("input_bias", &Args::inputBias, inputBias), reads("hidden_bias", &Args::hiddenBias, hiddenBias),
       reads("hx", &Args::hidden, hidden), writes("new_hidden", &Args::newHidden, hiddenOut),
       writes("kept", &Args::kept, keptOut)});
  hiddenOut.finish();
  keptOut.finish();
  return {newHidden, kept};
}

FiveTensors gruCellBackward(const at::Tensor& gradHidden, const at::Tensor& kept, bool hasBias) {
  using Args = kernels::GruCellBackwardArgs;
  Args args{};
  args.rows = gradHidden.size(0);
  args.size = gradHidden.size(1);
  const auto gradInput = at::empty({args.rows, 3 * args.size}, gradHidden.options());
  const auto gradHiddenGates = at::empty_like(gradInput);
  const auto gradOldHidden = at::empty_like(gradHidden, at::MemoryFormat::Contiguous);
  const ArrayOutput inputOut(gradInput), gatesOut(gradHiddenGates), hiddenOut(gradOldHidden);
  launchOverArrays(
      kernelFamily<"gru_cell_backward">, gradHidden, args,
      {reads("grad_hy", &Args::gradHidden, gradHidden), reads("workspace", &Args::kept, kept),
       writes("grad_input_gates", &Args::gradInputGates, inputOut),
       writes("grad_hidden_gates", &Args::gradHiddenGates, gatesOut),
       writes("grad_old_hidden", &Args::gradOldHidden, hiddenOut)});
  inputOut.finish();
  gatesOut.finish();
  hiddenOut.finish();
  return {
      gradInput, gradHiddenGates, gradOldHidden, hasBias ? gradInput.sum(0) : at::Tensor(),
      hasBias ? gradHiddenGates.sum(0) : at::Tensor()};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_thnn_fused_gru_cell", gruCell>(m);
  implPlain<"_thnn_fused_gru_cell_backward", gruCellBackward>(m);
}

} // namespace
} // namespace openreg
