// Collectives that bring values from one rank to all, or from all to one: broadcast, all_gather, gather, scatter.
#include "distributed/coalescing.h"
#include "distributed/collective.h"
#include "distributed/direct/direct_queue.h"
#include "distributed/flat.h"

namespace openreg {

namespace {

// all_gather, or gather where this rank is the root or not.
std::function<void(DirectQueue&)>
gatherDirectly(const at::Tensor& input, const std::vector<at::Tensor>& outputs, bool reads) {
  return [input, outputs, reads](DirectQueue& queue) {
    std::vector<Flat> flats;
    std::vector<at::Tensor> values(outputs.size());
    for (size_t rank = 0; reads && rank < outputs.size(); ++rank) {
      values[rank] = flats.emplace_back(outputs[rank]).values();
    }
    directGather(queue, Flat(input).values(), values);
    for (const auto& flat : flats) {
      flat.putBack();
    }
  };
}

} // namespace

c10::intrusive_ptr<c10d::Work>
ProcessGroup::broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& opts) {
  const auto& tensor = single(tensors, c10d::OpType::BROADCAST);
  const auto it = operation(c10d::OpType::BROADCAST, tensor.device());
  auto announcement = announce(c10d::OpType::BROADCAST, 0, 0);
  announcement.root = opts.rootRank;
  const bool root = opts.rootRank == getRank();
  if (root) {
    announcement.sends.assign(announcement.sends.size(), byteCount(tensor));
  }
  announcement.expects.at(static_cast<size_t>(opts.rootRank)) = byteCount(tensor);

  if (direct_ != nullptr) {
    it->outputs.push_back(tensor);
    return addDirect(it, announcement, [tensor, root, from = opts.rootRank, size = getSize()](DirectQueue& queue) {
      const Flat flat(tensor);
      std::vector<at::Tensor> outputs(static_cast<size_t>(size));
      if (!root) {
        outputs[static_cast<size_t>(from)] = flat.values();
      }
      directGather(queue, root ? flat.values() : at::Tensor(), outputs);
      flat.putBack();
    });
  }
  if (root) {
    it->outputs.push_back(tensor); // of the others it is what comes out
  }
  const auto host = root ? it->in(tensor) : it->out(tensor);
  return add(it, {announcement, with({bytesOf(host)}, [opts](auto& transport, auto& list) {
                    return transport.broadcast(list, opts);
                  })});
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::allgather(
    std::vector<std::vector<at::Tensor>>& outputs,
    std::vector<at::Tensor>& inputs,
    const c10d::AllgatherOptions& opts) {
  const auto& input = single(inputs, c10d::OpType::ALLGATHER);
  const auto it = operation(c10d::OpType::ALLGATHER, input.device());
  checkLists(outputs, input, getSize(), c10d::OpType::ALLGATHER);
  const auto announcement = announce(c10d::OpType::ALLGATHER, byteCount(input), byteCount(input));
  if (direct_ != nullptr) {
    it->inputs.push_back(input);
    it->outputs.insert(it->outputs.end(), outputs[0].begin(), outputs[0].end());
    return addDirect(it, announcement, gatherDirectly(input, outputs[0], true));
  }
  const auto from = bytesOf(it->in(input));
  std::vector<at::Tensor> to;
  for (const auto& output : outputs[0]) {
    to.push_back(bytesOf(it->out(output)));
  }
  return add(it, {announcement, withTwo({from}, to, [opts](auto& transport, auto& in, auto& out) {
                    std::vector<std::vector<at::Tensor>> lists{out};
                    return transport.allgather(lists, in, opts);
                  })});
}

c10::intrusive_ptr<c10d::Work>
ProcessGroup::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) {
  TORCH_CHECK_VALUE(
      output.scalar_type() == input.scalar_type() && output.numel() == input.numel() * getSize(),
      "occl: all_gather_into_tensor: argument 'output' has ", output.numel(), " elements of type ",
      output.scalar_type(), "; expected ", input.numel() * getSize(), " of type ", input.scalar_type());
  const auto it = operation(c10d::OpType::_ALLGATHER_BASE, input.device());
  const auto announcement = announce(c10d::OpType::_ALLGATHER_BASE, byteCount(input), byteCount(input));
  if (direct_ != nullptr) {
    it->inputs.push_back(input);
    it->outputs.push_back(output);
    return addDirect(it, announcement, [input, output](DirectQueue& queue) {
      const Flat flat(output);
      directGather(queue, Flat(input).values(), flat.values().chunk(queue.size()));
      flat.putBack();
    });
  }
  const auto from = bytesOf(it->in(input));
  const auto to = bytesOf(it->out(output));
  return add(it, {announcement, with({from, to}, [opts](auto& transport, auto& list) {
                    return transport._allgather_base(list[1], list[0], opts);
                  })});
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::allgather_into_tensor_coalesced(
    std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs, const c10d::AllgatherOptions& opts) {
  return coalesced([&] {
    for (size_t i = 0; i < inputs.size(); ++i) {
      _allgather_base(outputs[i], inputs[i], opts);
    }
  });
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::gather(
    std::vector<std::vector<at::Tensor>>& outputs, std::vector<at::Tensor>& inputs, const c10d::GatherOptions& opts) {
  const auto& input = single(inputs, c10d::OpType::GATHER);
  const auto it = operation(c10d::OpType::GATHER, input.device());
  auto announcement = announce(c10d::OpType::GATHER, 0, 0);
  announcement.root = opts.rootRank;
  announcement.sends.at(static_cast<size_t>(opts.rootRank)) = byteCount(input);
  const bool root = opts.rootRank == getRank();

  std::vector<at::Tensor> to;
  if (root) {
    checkLists(outputs, input, getSize(), c10d::OpType::GATHER);
    announcement.expects.assign(announcement.expects.size(), byteCount(input));
  }
  if (direct_ != nullptr) {
    it->inputs.push_back(input);
    const auto all = root ? outputs[0] : std::vector<at::Tensor>(static_cast<size_t>(getSize()));
    it->outputs.insert(it->outputs.end(), all.begin(), root ? all.end() : all.begin());
    return addDirect(it, announcement, gatherDirectly(input, all, root));
  }
  const auto from = bytesOf(it->in(input));
  if (root) {
    for (const auto& output : outputs[0]) {
      to.push_back(bytesOf(it->out(output)));
    }
  }
  return add(it, {announcement, withTwo({from}, to, [opts, root](auto& transport, auto& in, auto& out) {
                    auto lists =
                        root ? std::vector<std::vector<at::Tensor>>{out} : std::vector<std::vector<at::Tensor>>{};
                    return transport.gather(lists, in, opts);
                  })});
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::scatter(
    std::vector<at::Tensor>& outputs, std::vector<std::vector<at::Tensor>>& inputs, const c10d::ScatterOptions& opts) {
  const auto& output = single(outputs, c10d::OpType::SCATTER);
  const auto it = operation(c10d::OpType::SCATTER, output.device());
  auto announcement = announce(c10d::OpType::SCATTER, 0, 0);
  announcement.root = opts.rootRank;
  announcement.expects.at(static_cast<size_t>(opts.rootRank)) = byteCount(output);
  const bool root = opts.rootRank == getRank();

  if (root) {
    checkLists(inputs, output, getSize(), c10d::OpType::SCATTER);
    announcement.sends.assign(announcement.sends.size(), byteCount(output));
  }
  if (direct_ != nullptr) {
    const auto all = root ? inputs[0] : std::vector<at::Tensor>();
    it->inputs.insert(it->inputs.end(), all.begin(), all.end());
    it->outputs.push_back(output);
    return addDirect(it, announcement, [output, all, from = opts.rootRank](DirectQueue& queue) {
      const Flat flat(output);
      std::vector<at::Tensor> values;
      values.reserve(all.size());
      for (const auto& input : all) {
        values.push_back(Flat(input).values());
      }
      directScatter(queue, flat.values(), values, static_cast<int>(from));
      flat.putBack();
    });
  }
  const auto to = bytesOf(it->out(output));
  std::vector<at::Tensor> from;
  if (root) {
    for (const auto& input : inputs[0]) {
      from.push_back(bytesOf(it->in(input)));
    }
  }
  return add(it, {announcement, withTwo(from, {to}, [opts, root](auto& transport, auto& in, auto& out) {
                    auto lists =
                        root ? std::vector<std::vector<at::Tensor>>{in} : std::vector<std::vector<at::Tensor>>{};
                    return transport.scatter(out, lists, opts);
                  })});
}

c10::intrusive_ptr<c10d::Work> ProcessGroup::barrier(const c10d::BarrierOptions& opts) {
  const auto it = operation(c10d::OpType::BARRIER, barrierDevice(opts));
  if (direct_ != nullptr) {
    return addDirect(it, announce(c10d::OpType::BARRIER, 0, 0), [](DirectQueue& queue) { queue.finish(); });
  }
  return add(it, {announce(c10d::OpType::BARRIER, 0, 0), [opts](auto& transport) { return transport.barrier(opts); }});
}

} // namespace openreg
