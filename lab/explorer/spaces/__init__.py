"""The worlds of a model, and the search through them.

config         one state of a world, as a value
hindrances     why a step may not be taken now
full_space     one world step by step, for each actor
reduced_space  the same world with transactions as single events: far fewer states
reasons        why a step may not be taken, by which rule
fill           the fill, range by range, with a second worker
symmetry       worlds that differ in names only
search         breadth first until a clause breaks, everything is seen, or the budget is spent
"""
