"""The shell of the executor: PostgreSQL, Celery and the clock around the machine.

driver               performs the machine's effects, and reports their results
start                the start of a queued change: its plan on the tables as they are now
transitions          one transition, written in one transaction with its story
versions             publishes, drains, and waits for who is in the way
publish              the next version of a table, under its locks (L7)
reorganisations      starts, pauses and closes runs, and waits for them
schema_change_lease  the lease that makes one worker the driver of a change (X2)
listener             a sleep that ends when something is notified
"""
