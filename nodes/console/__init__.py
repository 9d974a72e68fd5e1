"""The SQL console of the page.

sessions  panes, each with a session on one node
words     the trace of a statement, in the reader's language
pictures  the trace of a request as a diagram, and as an address to share
held      what a pane's open transaction holds back
"""
