"""The window of time around a change, for the lanes over time: read while it is fresh, kept when the change is over.

windows    which tables, changes and times belong together; the record of a change that ended
keeping    writes that down, before it goes
paces      the rates of reorganisations, and the nodes' traffic beside them
incident   a range of time as an address to share
"""
