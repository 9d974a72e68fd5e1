"""Shared by tests and benchmarks: the product started for real, in a home of its own.

services  the settings and home of a process that tests
cluster   the whole product, running
"""
