"""Step 07: memory that is used again, and never too early."""

import time

import torch
import torch_openreg  # noqa: F401

stats = torch.accelerator.memory_stats
