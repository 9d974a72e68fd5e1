"""A trace of a model as actions on the real cluster: what each step becomes there, and what cannot be carried out.

actions      an action on live nodes: SQL, a version that is published, a change, a wait
trace        the steps of a session, its transactions, and what nodes do in them
past_rules   a trace in which versions are published past the rules
real_change  a trace whose fill puts pairs, as one real change
away         a session in which a node dies or freezes, beside a real change
translation  the script of a session, or why it cannot be replayed
feats        what chapters ask for on the real cluster
drawn        both stores side by side, and the lanes of the nodes
recorded     replays that were recorded, for those who may not ask for one
comparison   the model's verdict beside the audit's
"""
