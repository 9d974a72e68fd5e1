"""Programs beside the product.

bench/  benchmarks: `make bench` writes docs/benchmarks.md
"""
