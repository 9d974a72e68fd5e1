"""The subject of a run, as values: pure.

run_elements  its elements, by the kind of their pairs
requirements  what is required of every row
ranges        how a key space is cut
pacing        how large the next chunk is, how long to wait before it
feedback      how hard a run works: as hard as others do not mind
throughput    how fast rows go through
report        what was found, in counts that can be compared
"""
