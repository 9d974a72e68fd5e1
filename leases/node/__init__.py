"""One node's leases: a state machine, and the cheap half of a pin beside it.

machine      the machine: a state and an event give the next state and effects
vocabulary   its events and effects
holdings     its state, as frozen values
upkeep       what is due after every event: renew, release, expire
uses         who in this process uses which version; the one part that changes in place
"""
