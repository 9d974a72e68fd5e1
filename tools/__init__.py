"""Programs beside the product.

bench/  benchmarks: `make bench` writes docs/benchmarks.md
tlc/    the specifications of docs/spec, checked: `make prove`
"""
