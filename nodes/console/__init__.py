"""The SQL console of the page.

sessions  panes, each with a session on one node
"""
