"""A client's session.

session          its life, its settings, and who executes each of its statements
planned          statements on rows, TRUNCATE, EXPLAIN
points           statements alone that read or write one row by its key
named            PREPARE and EXECUTE
arguments        their values, and those of calls
cursors          DECLARE, FETCH, MOVE, CLOSE
store_cursors    cursors that the store has
tries            a statement that is its own transaction, until it keeps what it did (T7)
requests         operations of crud
block            its transaction block: begin, commit, fail
open             what a client may ask for when it connects
dumps            the refusal of programs that dump a database
utility          statements about the session itself
schema/          statements that change the schema
functions/       functions that act beyond a query, and those that tell of the session
explain          how a statement would reach its rows
tracing          the trace of a statement, for a client that asked
database_thread  work that uses Django's connection
"""
