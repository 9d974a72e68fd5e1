"""Traces as pictures, drawn by `catalog.diagrams`.

handout   a session for paper: versions, steps, store
traces    which lanes a trace has, and where its arrows go
"""
