"""The teaching lab: a cluster in memory, run by scripts, seeds and an exhaustive search, with the product's own rules.

cluster/    a whole cluster as one deterministic value
scripts/    golden scripts: sentences about a cluster, and what they showed
simulator/  one seed, one history in which much goes wrong
explorer/   every schedule of a small model
ladders/    an order of versions and work, judged and played
exercises/  chapters: files, read, checked, graded
learning/   learners, and how far they are
classroom/  a class that goes through chapters together
polls/      a question to the room about a session, voted on by phone
sessions/   what stage, exercises and classroom show, worked out from a set-up and steps
replays/    a trace of a model as actions on the real cluster
live/       the real cluster: tables on which rules may be broken, replays
pages/      requests and answers of the browser: stage, gallery
own/        a plan of one's own tables: cases, what may be left out, names
questions/  is there a way to break this, and what would have saved it
diagrams/   traces as SVG
answerers   kinds of questions of packages above, and who answers them
streams     the live part of a replay's page
services    the queue of questions to the explorer
signals     who signs in keeps what they did before
tasks       proofs and answers, in a process of their own
"""
