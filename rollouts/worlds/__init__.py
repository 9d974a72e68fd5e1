"""Worlds of a rollout: which can be reached, by which steps, and which faults they show.

world     the parts of a world
model     worlds and the steps between them: deploys, statements, commits
search    every schedule, the shortest first; rollbacks from each gate
walks     a schema statement on Schema Lab: its versions, two in use at once
symmetry  worlds that mean the same
alone     faults that a release has without a rollout
"""
