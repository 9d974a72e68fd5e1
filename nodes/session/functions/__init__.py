"""Functions that act for a session, or tell of it.

calls           LISTEN, NOTIFY, functions that stand alone, of:
advisory_locks    held at the store
numbers           nextval, setval, currval and lastval
procedures      CALL, which a node refuses
values          version(), current_user and the like
of_session      its cursors, prepared statements and settings as rows of the catalog
"""
