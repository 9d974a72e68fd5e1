"""Deterministic simulation: one seed, one history of a cluster in which much goes wrong.

    faults         what may go wrong
    events         what may happen next, chosen by the seed
    context        the surroundings of an event
    clients        transactions and statements
    columns        which column a value belongs to
    ddl_generator  the next change
    oracle         the rows that were acknowledged
    invariants     what must hold after every event, and at the end
    simulation     one run, or the replay of a list of events
    minimise       the shortest list that still shows the finding
    to_script      that list as a golden script
    seeds          a range of runs, and
    parallel       over several processes

An event *is* a line of the scripts' language (`lab.scripts.commands`), which a person can keep as a golden script.
"""
