"""A client's session.

session          its life, its settings, and who executes each of its statements
planned          statements on rows, TRUNCATE, EXPLAIN
named            PREPARE and EXECUTE
arguments        their values, and those of calls
cursors          DECLARE, FETCH, MOVE, CLOSE
tries            a statement that is its own transaction, until it keeps what it did (T7)
requests         operations of crud
block            its transaction block: begin, commit, fail
open             what a client may ask for when it connects
utility          statements about the session itself
ddl              submitted as a change, followed to its end
view_statements  CREATE, DROP and ALTER VIEW
tables_of_queries  CREATE TABLE AS, SELECT INTO
new_tables       created inside a transaction, and changed there (T9)
temporary_tables  of a session, as its transactions leave them
calls            LISTEN, NOTIFY, functions that stand alone
advisory_locks   held at the store
numbers          setval
without_effect   accepted, and nothing changes: COMMENT, OWNER TO
explain          how a statement would reach its rows
tracing          the trace of a statement, for a client that asked
values           version(), current_user and the like
database_thread  work that uses Django's connection
"""
