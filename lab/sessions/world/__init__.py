"""Sessions on the lab's cluster: leases, messages, transactions and clocks, as golden scripts have them.

setups        the set-ups: the lines before a session, and those it may take
session       positions that a list of lines leads through
cluster       the world as nodes, leases, messages, pairs and plan
script        a session as a golden script
script_texts  refusals and output of the cluster, in words that can be translated
"""
