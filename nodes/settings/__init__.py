"""The settings of a session: pure.

known      the settings of PostgreSQL that a node knows: name, kind, default, bounds (known.tsv)
kinds      what a value of a kind may be, and how SHOW writes it
checks     settings of which a node accepts only some values
variables  the values of one session, and what a transaction does to them
options    settings in the startup parameter `options`
"""
