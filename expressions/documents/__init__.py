"""Operators and functions of json and jsonb.

parts       members and elements of a document, cut out of its text
jsonb       what is asked of a jsonb, and what is made of one
building    documents made of other values
functions   by which names a statement calls them: for one row here, and for the query engine
"""
