"""Learners and how far they are: with an account, or in a browser without one until they sign in.

learner  who it is that a request comes from
forms    a task as a form, and the answer that comes back
findings what a grade found, as it is stored
selectors  progress: how far a learner is

Answers are stored before anything that they were about leaves the server (`services.answer`).
"""
