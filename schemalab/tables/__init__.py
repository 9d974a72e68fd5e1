"""Pages of a table that ask every floor below: its catalog, its leases, its changes, its pairs.

versions  one version: its elements, its differences from others, who used it from when until when, what made it
"""
