"""The machine that executes a plan: events in, actions out, no I/O, no clock.

machine        the machine
events         its events, and the effects that it asks for
state          the state of a change, as a value that is stored after every event
interventions  what people may ask of a change now, and why not
grace          how long a transaction may outlive the leases of its version (L8)
"""
