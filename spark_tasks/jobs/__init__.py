"""Who works on runs, audits and loads: one attempt at a time, over deaths and pauses.

lifecycle     claims and tokens of a run
runner        one attempt at a run
phases        what each kind of run does
heartbeat     that an attempt lives, and how far it has come
audits        audits as jobs
loads         loads as jobs
worker_state  the worker as a command sees it
"""
