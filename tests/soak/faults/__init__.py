"""Faults of the storm.

victims    the processes that can be struck
nemesis    strikes them, by the clock or at a step of a change
recovery   seconds until all serve again
sabotage   a fault of our own, for the judge to find
"""
