"""A session of the lab: a set-up, rules left out, and the steps taken; everything shown is worked out from these.

    session ──> replay ──> Shown: cluster, offers, verdicts, probe, trace, narration
       │
       └── a link: set-up, parameters, rules left out, steps, position, and the fingerprint of the rules

shown          the one shape that stage, exercises and classroom are given, whichever kind of session it is
session        a session as a value, and as the text of a link
setup          what a set-up is: its machine, its parameters, the rules that may be left out
setups         all set-ups by their names
replay         everything that a session shows at a position
model_setups   set-ups that run on an explorer's model
model_session  positions that a list of steps leads through, on such a model
model_cluster  its world drawn as a cluster: versions, nodes, pairs, plan
world_setups   set-ups that run on the lab's cluster: the lines before a session, and those it may take
world_session  positions that a list of lines leads through, on such a cluster
world_cluster  it drawn: nodes, leases, messages, pairs, plan
pairs          pairs as they are drawn: beside their rows, with what changed
script         a session on the lab's cluster as a golden script
names          names of somebody's own schema, in which a session is told
doors          from a wait or a refusal on the operations pages to a session in the same state
grain          what each actor may do: a statement as one button, or in single steps
fold           the trace by statements: single steps of one statement as one line
random_step    a step for "let it run", by a seed
probe          what a query finds by the table and by an index
handbooks      chapter 0's machine: people, editions, two channels, and the judge of handbooks
severity       danger is not damage
fault_texts    the explorer's faults in words that can be translated
script_texts   refusals and output of the lab's cluster, likewise
"""
