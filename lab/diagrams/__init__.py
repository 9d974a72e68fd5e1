"""Traces as pictures.

sequence  a sequence diagram in SVG
handout   a session for paper: versions, steps, store
lettering letters, and lines of a width in English and Chinese
traces    which lanes a trace has, and where its arrows go
"""
