"""Descriptor leases: which node may use which version of a table until when; at most two versions are alive.

rules         who may use, publish, drain, enter; the SQL of `enter` is a twin of the last
node/         one node's leases as a state machine
ranking       the order for people: what decides when the next step may go comes first
holders       the sessions behind a lease, for people
gossip        how news of a version spreads
withheld      news of sandboxes that is withheld from nodes, for a lesson
lanes         the cluster page's version lanes
samples       what a node did in a second
beats         what it did in each quarter of the last two, for reorganisations
totals        what it did since it began, for monitoring
staircase/    lanes over time: which node used which version when, as a picture
recorder/     reads and keeps what that picture is drawn from
asyncio/      the machine's shell in a node
redis/        gossip and samples over Redis
"""
