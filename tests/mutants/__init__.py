"""Seeded bugs, and what proves that each of them is caught."""
