"""A trace of a model as actions on the real cluster: what each step becomes there, and what cannot be carried out.

actions      an action on live nodes: SQL, a version that is published, a wait
translation  the actions of a session, or why it cannot be replayed
feats        what chapters ask for on the real cluster
comparison   the model's verdict beside the audit's
"""
