"""Tests of the driver "cuda" that need no GPU."""
