"""A storm over a whole cluster, and an independent judge of what is left of it: `python -m tests.soak`.

Clients write and check, schemas change there and back, a nemesis kills and freezes processes; then everything is
healed and what clients were answered is compared with what lies in the pair tables. One generator of chance, one seed.

options    what the command line asks for
storm      the cluster, all actors beside each other, the end
kinds      the schema changes, there and back
clients/   those who write, read, change schemas, and what they were answered
faults/    those who kill and freeze
judge/     those who look at everything
waits      clients that wait for an answer; nobody may wait for ever
chronicle  all that happened, as a log; violations
figures    what is printed
"""
