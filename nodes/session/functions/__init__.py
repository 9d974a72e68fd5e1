"""Functions that act for a session, or tell of it.

calls           LISTEN, NOTIFY, CALL, functions that stand alone, of:
advisory_locks    held at the store
numbers           nextval, setval, currval and lastval
values          version(), current_user and the like; its cursors, statements and settings as rows of the catalog
"""
