"""PostgreSQL's catalog, as clients read it: relations of our own, made from descriptors for the query engine: pure.

relations  the relations there are: names and types of their columns
rows       their rows, for the tables of a moment
"""
