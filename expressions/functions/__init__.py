"""Operators, functions and casts that are computed here.

local       operators and functions
casts       which casts there are, which are made unasked, and which are computed here
overloads   one way to call a function, and which of them a call means
volatile    functions that have another value each time
"""
