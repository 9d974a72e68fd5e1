"""Every function, operator and cast that a statement may use: an allow-list, and its types.

allowed         the lists, by name; their lines are in:
numbers           of integers, numerics and floating-point numbers
texts             of text
moments           of dates and timestamps
aggregates        aggregates and window functions
casts           which casts there are, and which are made unasked
overloads       one way to call a function, and which of them a call means
compatible      arrays and elements that become one type before that
volatile        functions that have another value each time
standing_alone  functions that act beyond a query: they stand alone in a statement
"""
