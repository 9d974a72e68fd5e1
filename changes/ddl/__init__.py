"""Text to action: PostgreSQL's grammar reads a statement, and what we support of it becomes an action.

statements   a statement's text to its action, or a refusal with its place
source       a statement's text and its parse tree
alter        ALTER TABLE and RENAME
columns      column definitions
identity     numbers for a column, and sequences as dumps write them
constraints  CHECK and UNIQUE
references   FOREIGN KEY
comments     COMMENT ON
like         LIKE in CREATE TABLE
sharding     WITH (..) and SET (..): how rows are spread
refused      unsupported statements, with what to use instead
resolve      do the names exist, are the new ones free?
bindings     the elements that names mean, settled once (L12)
placing      a mistake in an expression as a mistake of the statement around it
errors       SQLSTATE, sentence, place and hint of a mistake (X5)
actions      the language between DDL and planner
"""
