"""TLC, the model checker of TLA+, run over the specifications in `docs/spec`.

jar           the checker itself, compared with its SHA-256 before each use
runs          one run of TLC: its configuration, its answer
variants      the questions: safe sequences, unsafe ones, rules left out
agreement     each variant beside the explorer's answer
traces        a trace of TLC as the steps of `manage.py explore --steps`
page          the page about all of it: docs/reference/tla.md

`python -m tools.tlc` runs all of it and compares the answers with that page (`make prove`).
"""
