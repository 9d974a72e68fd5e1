"""Reorganisation on Spark: fills, verifications, deletions, audits and bulk loads, beside all traffic.

runs/        what a run is about: elements, ranges, pace, report: pure
jobs/        who works on it
chunks/      short transactions over key ranges
reorganise/  fill, verify, repair, delete, purge
checks/      rows, entries and references, judged
load/        files into tables
spark/       the warm session
models, services, streams, tasks, views, urls: as in any Django app
"""
