"""COPY: its formats and options, without a client and without a store. Pure.

options    what WITH (..) says, checked as PostgreSQL checks it
encodings  other encodings than UTF-8
lines      a stream of text or CSV as lines, whatever the pieces it comes in
fields     the fields of a line
tuples     a stream in binary format as rows
incoming   rows of fields as values of their columns, and where a bad one stands
outgoing   the rows of a result as a client gets them
"""
