"""Questions to the explorer from a session: is there a way to break this, and what would have saved it?

answering  a question, searched for and answered
goal       the damage to look for: clauses and versions; by default what a user would meet
aimed      the explorer's spaces with a goal, and with a first world of its own
search     the answer from the start of a session, or from a position of it
witnesses  the shortest witness of each built-in model that is unsafe, as a session
saving     the last choice before the damage, made otherwise
"""
