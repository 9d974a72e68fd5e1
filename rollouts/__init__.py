"""Rollouts: releases of an application and changes of its schema, old and new at once, explored exhaustively.

    file ──> model ──> search ──> findings ──> report

file        the TOML file of a rollout; a mistake is refused with its line and key
orm         the statements that an ORM writes
statements  their effects on a few rows, as in PostgreSQL
model       worlds and the steps between them: deploys, statements, commits
search      every schedule, the shortest first; a finding that the application has anyway is marked
findings    the answer: proved, broken or unknown, with its gates
repairs     changes of the order that were tried, the first that is proved
locks       the locks of schema statements, from a table held against PostgreSQL
narration   a trace in sentences
report      the answer as text and as Markdown
command     `python -m rollouts check FILE`; __main__ calls it
"""
