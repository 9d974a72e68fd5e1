"""Catalog queries of clients: they run at the shadow (`storage.shadow`), alone, and their rows are relayed.

asks        whether a statement asks the catalog, from its tree: pure
brought     relations whose rows a node brings along: of its sessions, of the cluster
compiled    the text for the shadow: what a session knows better stands in it as a constant: pure
functions   which functions such a text may call: pure
shadow      the shadow of a node: its sessions, whether it is behind, oids for descriptions of results
statements  the catalog queries of one session
"""
