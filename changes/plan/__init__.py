"""The plan of a change: a value, stored with the change and executed by any worker.

model           versions, steps, the point of no return
element_states  the effect of a step on a descriptor
rollback        the undo of a change that is cancelled, from any point before the point of no return (X4)
undo            the undo of a finished change: a statement that takes it back (X7)
undo_today      the same as it is offered now: by ids, with today's names, if it would not be refused
namesakes       the names of a statement that mean other elements when it is planned again
"""
