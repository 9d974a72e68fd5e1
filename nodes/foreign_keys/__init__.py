"""Foreign keys as a statement meets them.

enforced          which ones it must obey, and which other tables it uses for that
checks            what is to be checked when its rows are written
violations        a check, and how its violation is reported
probes            lookups of keys that are known
scan_referencing  rows that refer to what was taken away
"""
