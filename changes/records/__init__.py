"""The window of time around a change, for the lanes over time: read while it is fresh, kept when the change is over.

windows    which tables, changes and times belong together; what is kept of a change that ended
keeping    writes that down, before it goes
paces      how fast reorganisations went, and what the nodes did meanwhile
incident   a range of time as an address to share
"""
