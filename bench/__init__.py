"""Benchmarks: ratios measured in one run beside what they are compared with. `make bench` writes the page."""
