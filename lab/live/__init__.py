"""The real cluster, for the lab: tables on which rules may be broken, and how.

sandbox       sandbox tables: made, listed, dropped
publish       a version of one, past L7 and the fence
replays       replays: asked for, counted, found again when their worker has died
feats         who has done what a chapter asks for
holding       people whose open transactions block a change of a sandbox, noted for the feats
absent_nodes  nodes that a replay kills, freezes or drains, and how they come back
supervisor    commands to the processes of nodes
drawn         the picture of a replay, as it is kept
carry_out     one replay on live nodes, and the audit's verdict on it
"""
