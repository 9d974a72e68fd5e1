"""The worlds of a model, and the search through them.

full_space     one world step by step: what each actor may do now, and why not
reduced_space  the same world with transactions as single events: far fewer states
reasons        why a step may not be taken, by which rule
fill           the fill, range by range, with a second worker
symmetry       worlds that differ in names only
search         breadth first until a clause breaks, everything is seen, or the budget is spent
"""
