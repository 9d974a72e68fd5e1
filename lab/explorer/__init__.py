"""Every schedule of a small model of a schema change, judged in every state.

model                 the subject: elements, their states in each version, rules left out, sizes
plans                 the plans that are explored, on small tables
contents              the store of a model: its pairs, the effects of events on them, and their faults
spaces                the worlds of a model, and the search through them
verdict               proved, violated or unknown
witness               a short way into a broken world, as steps of the plain model
narration             a trace in sentences
lanes                 who takes a step, and whom it concerns
rules_left_out        the rules that a model may lack
variant               a built-in model by its name
variants              the safe sequences and the broken ones that are known
variants_of_requests  those of storages, and of tables without leases
variants_page         the page about all variants
planned               the proof of an actual plan
cache                 answers that are kept, under
fingerprint           the text of all the rules
"""
