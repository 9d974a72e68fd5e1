"""Is a plan safe? Asked of every plan before its first version is published.

check             the entry
neighbour_states  which states of an element may live one version apart
dependencies      rules for several elements together
foreign_keys      the two sides of a foreign key
defect            a fault at a step, with the clause that breaks
"""
