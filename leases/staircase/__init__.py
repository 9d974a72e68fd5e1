"""Lanes over time: which node used which version when.

facts      what happened to a table in a window of time: versions, uses, marks, seconds, changes
phases     the state in which a version is drawn
lanes      the nodes that have a lane; of many nodes counts for each version, and the laggards
waits      how long a step waits for nodes
seconds    the seconds of a cluster from the samples of its nodes
plots      statements a second and latencies in figures
stops      the moments at which one may look back, and what was so then
picture    all of it in sentences and tables, as the page says it; `static/picture/` draws it from the facts
"""
