"""A fault of PyTorch's Gloo: two groups, one after the other in one store, have their addresses under the same keys."""

from datetime import timedelta

import torch
import torch.distributed as dist
import torch_openreg  # noqa: F401

for backend, device in (("gloo", "cpu"), ("occl", "openreg")):
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, timeout=timedelta(seconds=30))
    before: set[str] = set()
    for group in ("first", "second"):
        dist.init_process_group(backend, store=store, rank=0, world_size=1)
        dist.all_reduce(torch.ones(1, device=device))
        dist.destroy_process_group()
        keys = set(store.list_keys())
        print(f"{backend}, {group} group: new keys {sorted(keys - before)}")
        before = keys
