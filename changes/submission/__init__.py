"""Requests to change the schema, before a change is queued: permission, rate, and the tables they meet.

approval      by a second person
rate_limits   how often changes and proofs may be asked for
tables_ahead  the tables that the next change will meet
judging       PostgreSQL's word on an expression of a schema
Requests that need no driver are done at once, under the lock of submissions:
new_tables    tables made inside a transaction (T9)
stored_views  views made, replaced, renamed and dropped
storages      storages added, removed, and tables spread over them
"""
