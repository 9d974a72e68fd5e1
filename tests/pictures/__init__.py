"""Pictures of a running product, made by hand.

screenshots, webp  those of README and docs, from the cluster that `make run` has started
looks              every page in every look, and what axe-core has against it
scenes             the states of a running story that it draws
"""
