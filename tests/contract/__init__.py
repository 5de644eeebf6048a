"""Tests of the contract in openreg.h, for any driver behind it."""
