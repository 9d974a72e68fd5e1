"""Work on runs, audits and loads: one attempt at a time, over deaths and pauses.

lifecycle        claims, heartbeats, failures and the end of any job
beside           who works beside a run, and how hard it may work then
heartbeat        a statement repeated while the work lasts
claim            one attempt's right to work on a run, and the run's marks
run_ranges       the ranges of a run: stored, and handed to workers
phases           what each kind of run does
reorganisations  runs as jobs
audits           audits as jobs
loads            loads as jobs
worker_state     the worker as a command sees it
"""
