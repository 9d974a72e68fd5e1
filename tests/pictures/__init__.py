"""Pictures of a running product, made by hand.

screenshots, webp  those of README and docs, from the cluster that `make run` has started
"""
