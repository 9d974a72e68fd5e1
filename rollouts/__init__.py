"""Rollouts: releases of an application and changes of its schema, old and new at once, explored exhaustively.

    file ──> worlds ──> findings ──> checks ──> report, or a page

file        the TOML file of a rollout; a mistake is refused with its line and key
orm         the statements that an ORM writes
statements  their effects on a few rows, as in PostgreSQL
worlds      what can be reached, by which steps, the shortest first; a fault that the application has anyway is marked
findings    the answer: proved, broken or unknown, with its gates
repairs     changes of the plan that were tried, the first that is proved, as a file
locks       the locks of schema statements, from a table held against PostgreSQL
words       the deploys in the words of Alembic and Django
narration   a trace in sentences
frames      a trace as pictures: rows, transactions under way, the values that users gave last
checks      all of it as one value: `check(text)` for a page and for the command
templates   thirteen changes, naive and safe, as files
lessons     rollouts as lessons: sessions of the lab, tasks of its chapter
report      the report as text and as Markdown
pages       the page *Design a rollout*; apps and urls are Django's
command     `python -m rollouts`; __main__ calls it
"""
