"""Rows of the catalog that a node brings to a question: it knows them better than the shadow.

relations  the relations that there are: names and types of their columns
fixed      the one role and database, and their numbers
own        views of our own: elements in any state, versions, leases, changes, nodes
"""
