"""Functions of values, for one row in Python: PostgreSQL's results.

arithmetic      operators over one row, of numbers in
numerics          numbers of any number of digits: results, and how many digits they have
texts           functions of text
patterns          LIKE, in linear time
"""
