"""Lanes over time: which node used which version when, as places on an axis of time.

facts      what happened to a table in a window of time: versions, uses, marks, seconds, changes
phases     the state in which a version is drawn
axis       time as places: stretched where much happens, long waits folded
lanes      a staircase for each node; of many nodes counts for each version, and the laggards
waits      how long a step waits for nodes
seconds    the seconds of a cluster from the samples of its nodes
plots      statements a second and latencies on the same axis
stops      the moments at which one may look back, and what was so then
picture    all of it together, as the page draws it
"""
