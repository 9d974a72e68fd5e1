"""Statements of applications and deploys, and their effects on a few rows, as in PostgreSQL.

reading      from a text to a statement, by PostgreSQL's grammar
expressions  expressions of a statement, as functions of a row
values       types and the casts between them
kinds        the kinds of types that PostgreSQL compares before it reads a row
tables       tables, their keys and constraints; rows as values
effects      SELECT, INSERT, UPDATE and DELETE
definitions  schema statements
errors       refused by the database, or outside of the model
"""
