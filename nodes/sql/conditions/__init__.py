"""Conditions of a statement: which keys and rows they leave. Pure.

predicates    what conditions say of single columns
access_paths  which keys a scan must read
lookups       keys that other relations give
implication   does a query lie within a partial index?
"""
