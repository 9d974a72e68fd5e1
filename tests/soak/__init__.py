"""A storm over a whole cluster, and an independent judge of what is left of it: `python -m tests.soak`. One generator
of chance, one seed.

options    the options of the command line
storm      the cluster, all actors beside each other, the end
kinds      the schema changes, there and back
clients/   those who write, read, change schemas, and what they were answered
faults/    those who kill and freeze
judge/     those who look at everything
waits      clients that wait for an answer; nobody may wait for ever
chronicle  all that happened, as a log; violations
figures    what is printed
"""
