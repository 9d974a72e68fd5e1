"""A client's session.

session  its transaction, its settings, each statement
open     what a client may ask for when it connects
utility  statements about the session itself
ddl      submitted as a change, followed to its end
explain  how a statement would reach its rows
values   version(), current_user and the like
"""
