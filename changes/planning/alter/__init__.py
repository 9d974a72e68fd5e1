"""ALTER TABLE: the meaning of each of its commands for the table as it is. Pure.

alter_table     the commands of one statement as one draft, of:
columns           columns
identity          numbers of a column
constraints       CHECK and UNIQUE
foreign_keys      foreign keys, in both their tables
types             the type of a column
castable_types  which type a column may change to
defaults        the value of a default for existing rows
"""
