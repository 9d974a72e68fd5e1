"""Traces as pictures.

sequence  a sequence diagram in SVG
traces    which lanes a trace has, and where its arrows go
"""
