"""The role under which PostgreSQL runs a user's text: what it may call and read. Pure: SQL to be run by others.

functions  the functions of pg_catalog that it may call
role       SQL that makes the role and takes everything else from it
"""
