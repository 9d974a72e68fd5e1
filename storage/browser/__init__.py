"""Stored pairs for people: pure functions from bytes to what a page shows.

lines     a pair in one line
segments  a key cut into what it is made of
row       one row: all its pairs and entries, what is there, and what of it no query sees
"""
