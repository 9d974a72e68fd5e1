"""LISTEN and NOTIFY between the sessions of all nodes.

pieces     a notification as PostgreSQL carries it, and back
listening  the channels of one session, as its transactions leave them, and what has come for it
hub        a node's listener at PostgreSQL, and the sessions that listen
"""
