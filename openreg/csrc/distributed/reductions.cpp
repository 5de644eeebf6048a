// Collectives that compute: all_reduce, reduce, reduce_scatter.
#include "distributed/coalescing.h"
#include "distributed/collective.h"
#include "distributed/direct/direct_queue.h"
#include "distributed/flat.h"
#include "distributed/reduce_op.h"

#include <ATen/ops/cat.h>

namespace openreg {

// LITERALINCLUDE START: REDUCE OP
// The transport knows no average and no factor. The device does what is missing: a factor before, a division after.
at::Tensor ProcessGroup::reduced(
    Operation& operation, c10d::ReduceOp& reduceOp, const at::Tensor& tensor, const at::Tensor& result) {
  if (reduceOp == c10d::ReduceOp::AVG) {
    reduceOp = c10d::ReduceOp::SUM;
    operation.onDevice.emplace_back([result, size = getSize()] { divideByRanks(result, size); });
  }
  const auto values = factored(tensor, reduceOp);
  if (reduceOp == c10d::ReduceOp::PREMUL_SUM) {
    reduceOp = c10d::ReduceOp::SUM;
  }
  return values;
}
// LITERALINCLUDE END: REDUCE OP

// LITERALINCLUDE START: ALL REDUCE
c10::intrusive_ptr<c10d::Work>
ProcessGroup::allreduce(std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& opts) {
  const auto& tensor = single(tensors, c10d::OpType::ALLREDUCE);
  const auto it = operation(c10d::OpType::ALLREDUCE, tensor.device());
  const auto announcement = announceReduction(c10d::OpType::ALLREDUCE, tensor, opts.reduceOp);

  it->outputs.push_back(tensor);
  if (direct_ != nullptr) {
    return addDirect(it, announcement, [tensor, reduceOp = opts.reduceOp](DirectQueue& queue) {
      const Flat flat(tensor);
      directReduce(queue, flat.values(), reduceOp, /*root=*/-1);
      flat.putBack();
    });
  }
  auto options = opts;
  const auto host = it->in(reduced(*it, options.reduceOp, tensor, tensor));
  it->toDevice.emplace_back(tensor, host);
  return add(it, {announcement, with({host}, [options](auto& transport, auto& list) {
                    return transport.allreduce(list, options);
                  })});
}
// LITERALINCLUDE END: ALL REDUCE

c10::intrusive_ptr<c10d::Work>
ProcessGroup::allreduce_coalesced(std::vector<at::Tensor>& tensors, const c10d::AllreduceCoalescedOptions& opts) {
  return coalesced([&] {
    for (const auto& tensor : tensors) {
      std::vector<at::Tensor> list{tensor};
      allreduce(list, opts);
    }
  });
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::reduce(std::vector<at::Tensor>& tensors, const c10d::ReduceOptions& opts) {
  const auto& tensor = single(tensors, c10d::OpType::REDUCE);
  const auto it = operation(c10d::OpType::REDUCE, tensor.device());
  auto announcement = announceReduction(c10d::OpType::REDUCE, tensor, opts.reduceOp);
  announcement.root = opts.rootRank;

  it->outputs.push_back(tensor);
  if (direct_ != nullptr) {
    return addDirect(it, announcement, [tensor, reduceOp = opts.reduceOp, root = opts.rootRank](DirectQueue& queue) {
      const Flat flat(tensor);
      directReduce(queue, flat.values(), reduceOp, static_cast<int>(root));
      flat.putBack();
    });
  }
  auto options = opts;
  const bool root = opts.rootRank == getRank();
  if (!root && options.reduceOp == c10d::ReduceOp::AVG) {
    options.reduceOp = c10d::ReduceOp::SUM; // the root divides
  }
  const auto host = it->in(reduced(*it, options.reduceOp, tensor, tensor));
  if (root) {
    it->toDevice.emplace_back(tensor, host);
  }
  return add(it, {announcement, with({host}, [options](auto& transport, auto& list) {
                    return transport.reduce(list, options);
                  })});
}

// LITERALINCLUDE START: REDUCE SCATTER
// Gloo has none: it reduces everything everywhere, and each rank takes its part.
c10::intrusive_ptr<c10d::Work>
ProcessGroup::_reduce_scatter_base(at::Tensor& output, at::Tensor& input, const c10d::ReduceScatterOptions& opts) {
  TORCH_CHECK_VALUE(
      output.scalar_type() == input.scalar_type() && input.numel() == output.numel() * getSize(),
      "occl: reduce_scatter_tensor: argument 'input' has ", input.numel(), " elements of type ", input.scalar_type(),
      "; expected ", output.numel() * getSize(), " of type ", output.scalar_type());
  const auto it = operation(c10d::OpType::_REDUCE_SCATTER_BASE, input.device());
  const auto announcement = announceReduction(c10d::OpType::_REDUCE_SCATTER_BASE, output, opts.reduceOp);

  it->outputs.push_back(output);
  if (direct_ != nullptr) {
    it->inputs.push_back(input);
    return addDirect(it, announcement, [output, input, reduceOp = opts.reduceOp](DirectQueue& queue) {
      const Flat flat(output);
      directReduceScatter(queue, flat.values(), Flat(input).values(), reduceOp);
      flat.putBack();
    });
  }
  c10d::AllreduceOptions options;
  options.reduceOp = opts.reduceOp;
  options.timeout = opts.timeout;
  const auto host = it->in(reduced(*it, options.reduceOp, input, output));
  it->toDevice.emplace_back(output, host.view({getSize(), -1})[getRank()].view(output.sizes()));
  return add(it, {announcement, with({host}, [options](auto& transport, auto& list) {
                    return transport.allreduce(list, options);
                  })});
}
// LITERALINCLUDE END: REDUCE SCATTER

c10::intrusive_ptr<c10d::Work> ProcessGroup::reduce_scatter(
    std::vector<at::Tensor>& outputs,
    std::vector<std::vector<at::Tensor>>& inputs,
    const c10d::ReduceScatterOptions& opts) {
  auto output = single(outputs, c10d::OpType::REDUCE_SCATTER);
  std::vector<at::Tensor> flat;
  for (const auto& input : inputs.at(0)) {
    flat.push_back(input.reshape({-1}));
  }
  auto input = at::cat(flat);
  return _reduce_scatter_base(output, input, opts);
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::reduce_scatter_tensor_coalesced(
    std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs, const c10d::ReduceScatterOptions& opts) {
  return coalesced([&] {
    for (size_t i = 0; i < inputs.size(); ++i) {
      _reduce_scatter_base(outputs[i], inputs[i], opts);
    }
  });
}

} // namespace openreg
