"""The shell of a node's lease machine.

keeper   the loop around the machine
queries  what it asks of the database
session  its session at the database, made anew when it is lost
"""
