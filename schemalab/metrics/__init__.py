"""Figures of the cluster for Prometheus, at /metrics.

names    every metric: its name, kind, labels and meaning
reading  their values now
views    the page, and who may read it
"""
