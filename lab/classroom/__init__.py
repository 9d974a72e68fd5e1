"""A class that goes through chapters together: courses, their members, and what a teacher sees of them.

status  how a learner stands at a task, and who is stuck
tally   the first answers to a prediction, counted
pace    the screen up to which a class may go
traces  the session that a learner has played, for the stage
sheet   all of a course as a CSV file

A member's work in a course is separate from their own (`lab.learning`), and deleted with the course.
"""
