"""The plans that are explored, on small tables.

small_tables  the tables, in each version, and the elements that move
by_planner    the planner's own plan of a statement on them, for safe variants
by_hand       a plan written by hand, in which a rule may be left out
by_tiles      a plan in the very order of its tiles, work among them
program       a plan as the executor walks it: stops, with its steps back
"""
