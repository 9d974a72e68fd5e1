"""Dates and times as PostgreSQL reads and writes them, in a session's time zone: pure.

zones    time zones: their names, and what a local time means in one
reading  PostgreSQL's input forms of dates and timestamps
"""
