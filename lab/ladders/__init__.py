"""Ladders: versions and work in any order, judged and played.

order      an order of tiles as a value, and the model that it is
elements   the tiles of each element, its pairs of compatible neighbours, the damage that it can suffer
verdict    safe or not, whether it arrives, a run for each damage
runs       the runs that are played: quiet ones, one for an incompatible pair, tidied witnesses
frames     a run as pictures with a sentence each
played     a run as pages of chapters play it
built_in   the orders that are worked out after a release
sentences  the steps in plain words
"""
