"""The plan of a change: a value, stored with the change and executed by any worker.

model           versions, steps, the point of no return
element_states  what a step does to a descriptor
rollback        the steps back from any point before the point of no return (X4)
undo            the statement that takes a finished change back (X7)
"""
