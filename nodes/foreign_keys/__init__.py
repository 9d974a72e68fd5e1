"""Foreign keys as a statement meets them.

enforced          which other tables a statement asks, and what
violations        what a foreign key requires, and how it refuses
checks            the questions, brought to the store
probes            are known keys there?
scan_referencing  which rows refer to what was taken away?
"""
