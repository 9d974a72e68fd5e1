"""COPY, without a client and without a store. Pure.

staging   the table into which PostgreSQL reads the data of a COPY FROM
outgoing  the text by which PostgreSQL writes the data of a COPY TO
options   what a node reads of WITH (..) itself
"""
