"""Every kind of change, interrupted at every step in every way: does it end as it should?

kinds          a statement of each kind of change, and the tables it is about
interruptions  what may come in between, and how each change must end after it
traffic        what two nodes write and read meanwhile
walk           one cell: a change of that kind, interrupted there, judged after every event
grid           all cells, in one process or several; what each showed
"""
