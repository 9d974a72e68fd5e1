"""Operators, functions and casts: those computed here, and the types of the others.

allowed         all of them, by name; they come from:
local             those computed here
signatures        types of the others, a line for each
casts           which casts there are, which are made unasked, and which are computed here
overloads       one way to call a function, and which of them a call means
compatible      arrays and elements that become one type before that
volatile        functions that have another value each time
standing_alone  functions that act beyond a query: they stand alone in a statement
"""
