"""The shell of the executor: PostgreSQL, Celery and the clock around the machine.

driver               does what the machine asks, and reports what came of it
publish              the next version of a table, under its locks (L7)
schema_change_lease  who drives a change, and the driver's connections
transitions          one transition, written in one transaction with its story
"""
