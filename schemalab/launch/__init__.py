"""Plans one `manage.py up`.

plan       all questions answered before the first process starts
procfile   which processes
room       settings and invitation for a class in a room
ports      on which ports
lock       one `up` in each home
readiness  is it ready?
"""
