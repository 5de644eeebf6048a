"""Tests of the driver "process" itself: its executors, its wire, and what the host believes of them."""
