"""The SQL console of the page.

sessions    panes, each with a session on one node
words       the trace of a statement, in the reader's language
pictures    the trace of a request as a diagram, and as an address to share
unfinished  what a pane's open transaction has done so far
held        what a pane's open transaction holds back, or who has ended it
hold        a transaction that is kept open on a node, for whoever wants to see a wait
"""
