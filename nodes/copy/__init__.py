"""COPY, without a client and without a store. Pure.

staging    the table into which PostgreSQL reads the data of a COPY FROM
options    what WITH (..) of a COPY TO says, checked as PostgreSQL checks it
encodings  other encodings than UTF-8
outgoing   the rows of a result as a client gets them
"""
