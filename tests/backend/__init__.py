"""Tests of the PyTorch side, one file a mechanism."""
