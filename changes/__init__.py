"""Schema changes: from a statement to a plan, from a plan to versions that every node has reached.

ddl/           text to action
planning/      action to plan
plan/          the plan as a value: its steps, its rollback, its undo
review/        is a plan safe?
executor/      the machine that executes a plan: pure
driver/        the machine's shell: publishes, waits, starts reorganisations, records every transition
pages/         a change in words and drawings
notifications/ of changes, to webhooks and by email
records/       the time around a change, for its lanes over time
submission/    before a change is queued: who may ask, how often; and what is done at once
queue          one change at a time moves a table (X1)
change_list    the list of changes with its filters, and the queue
running_transactions  the transactions that a change waits for when no lease is in its way
notices        who hears of a change: its driver, pages, followers
proofs         what the explorer says of a plan
models, selectors, services, streams, tasks, views, urls, admin: as in any Django app
"""
