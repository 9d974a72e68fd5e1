"""Sessions on an explorer's model: every step it can take is offered, and what it breaks is found at once.

setups       the set-ups: a change, its steps, nodes, rows, what runs beside it
session      positions that a list of steps leads through
script       a session as a golden script: the same steps and the same pairs on the lab's cluster
cluster      the model's world as versions, nodes, pairs and plan
fault_texts  the faults it finds, in words that can be translated
"""
