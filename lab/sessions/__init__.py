"""A session of the lab: a set-up, rules left out, and the steps taken; everything shown is worked out from these.

as_json        values as JSON, and back
shown          the one shape that stage, exercises and classroom are given, whichever kind of session it is
short_steps    short ways to write steps
session        a session as a value, and as the text of a link
setup          a set-up: its machine, its parameters, the rules that may be left out
setups         all set-ups by their names
replay         everything that a session shows at a position
pairs          pairs as they are drawn: beside their rows, with what changed
titles         the title of a session, and facts about its model
names          names of one's own schema, in which a session is told
explained_waits  a wait or a refusal of the operations pages, as a session in the same state
grain          offers to each actor: a statement as one button, or in single steps
fold           the trace by statements: single steps of one statement as one line
random_step    a step for "let it run", by a seed
probe          the rows that a query finds by the table and by an index
handbooks      chapter 0's machine: people, editions, two channels, and the judge of handbooks
kinds          kinds of sessions that packages above the lab add
places         the code that replays them
severity       danger is not damage
model/         sessions on an explorer's model
world/         sessions on the lab's cluster
"""
