// The cell of an LSTM: PyTorch makes the products for all gates, one kernel does the rest.
#include "ops/sequence/recurrent.h"
#include "ops/structured/plain.h"

#include <kernels/sequence/recurrent.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

ThreeTensors lstmCell(
    const at::Tensor& inputGates,
    const at::Tensor& hiddenGates,
    const at::Tensor& cell,
    const OptionalTensor& inputBias,
    const OptionalTensor& hiddenBias) {
  using Args = kernels::LstmCellArgs;
  const auto args =
      describe<Args>("aten::_thnn_fused_lstm_cell", 4, inputGates, hiddenGates, cell, inputBias, hiddenBias);
  const auto newHidden = at::empty_like(cell, at::MemoryFormat::Contiguous), newCell = at::empty_like(newHidden);
  const auto kept = at::empty({args.rows, 4 * args.size}, cell.options());
  const ArrayOutput hiddenOut(newHidden), cellOut(newCell), keptOut(kept);
  launchOverArrays(
      kernelFamily<"lstm_cell">, inputGates, args,
      {reads("input_gates", &Args::inputGates, inputGates), reads("hidden_gates", &Args::hiddenGates, hiddenGates),
       reads("input_bias", &Args::inputBias, inputBias), reads("hidden_bias", &Args::hiddenBias, hiddenBias),
       reads("cx", &Args::cell, cell), writes("new_hidden", &Args::newHidden, hiddenOut),
       writes("new_cell", &Args::newCell, cellOut), writes("kept", &Args::kept, keptOut)});
  hiddenOut.finish();
  cellOut.finish();
  keptOut.finish();
  return {newHidden, newCell, kept};
}

ThreeTensors lstmCellBackward(
    const OptionalTensor& gradHidden,
    const OptionalTensor& gradCell,
    const at::Tensor& cell,
    const at::Tensor& newCell,
    const at::Tensor& kept,
    bool hasBias) {
  using Args = kernels::LstmCellBackwardArgs;
  if (!(gradHidden && gradHidden->defined()) && !(gradCell && gradCell->defined())) {
    return {};
  }
  Args args{};
  args.rows = cell.size(0);
  args.size = cell.size(1);
  const auto gradGates = at::empty_like(kept, at::MemoryFormat::Contiguous);
  const auto gradOldCell = at::empty_like(cell, at::MemoryFormat::Contiguous);
  const ArrayOutput gatesOut(gradGates), cellOut(gradOldCell);
  launchOverArrays(
      kernelFamily<"lstm_cell_backward">, cell, args,
      {reads("grad_hy", &Args::gradHidden, gradHidden), reads("grad_cy", &Args::gradCell, gradCell),
       reads("cx", &Args::cell, cell), reads("cy", &Args::newCell, newCell), reads("workspace", &Args::kept, kept),
       writes("grad_gates", &Args::gradGates, gatesOut), writes("grad_old_cell", &Args::gradOldCell, cellOut)});
  gatesOut.finish();
  cellOut.finish();
  return {gradGates, gradOldCell, hasBias ? gradGates.sum(0) : at::Tensor()};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  implPlain<"_thnn_fused_lstm_cell", lstmCell>(m);
  implPlain<"_thnn_fused_lstm_cell_backward_impl", lstmCellBackward>(m);
}

} // namespace
} // namespace openreg
