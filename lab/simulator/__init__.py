"""Deterministic simulation: one seed, one history of a cluster in which much goes wrong.

    seed ──> random.Random ──> events ──> the lab's cluster ──> judge after every event
                                 │                                  │ a finding
                                 └── a list of script lines  <── minimise (delete one, replay)

    faults     what may go wrong
    events     what may happen next, chosen by the seed
    ledger     the rows that were acknowledged
    judge      what must hold after every event, and at the end
    simulation one run, or the replay of a list of events
    minimise   the shortest list that still shows the finding
    golden     that list as a golden script
    seeds      a range of runs

An event *is* a line of the scripts' language (`lab.language`): what the simulator does, a person
can write, read, and keep as a golden script. Every rule is the product's.
"""
