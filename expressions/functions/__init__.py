"""Every function, operator and cast that a statement may use: an allow-list.

allowed         the lists
plain           functions that are one line of the engine's language
standing_alone  functions that act beyond a query: they stand alone in a statement
"""
