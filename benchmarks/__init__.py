"""Measures rowlaw against its peers in one run: ``python -m benchmarks --list``."""
