"""Dates and times as PostgreSQL reads and writes them, in a session's time zone: pure.

zones                time zones: their names, and what a local time means in one
reading              PostgreSQL's input forms of dates and timestamps
formats              patterns of to_char, for the query engine
patterns             the parts of a pattern
writing_by_patterns  to_char of intervals, and of timestamps by any pattern
reading_by_patterns  to_date and to_timestamp
"""
