"""The rules that rows and pairs keep, and the rows that break them.

constraints  which constraints one row breaks: NOT NULL, CHECK
references   foreign keys over pairs: what a row refers to, and what a statement demands
referring    how referring rows are found
clauses      the seven clauses: when pairs are consistent with a version
offenders    rows that break a rule, named for people
"""
