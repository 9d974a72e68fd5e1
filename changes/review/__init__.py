"""Is a plan safe? Asked of every plan before its first version is published.

check             the way in
neighbour_states  which states of an element may live one version apart
dependencies      what each of several elements may do, and all may not
foreign_keys      the two sides of a foreign key
defect            what is wrong at a step, with the clause that breaks
"""
