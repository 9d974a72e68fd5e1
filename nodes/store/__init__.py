"""A node's side of PostgreSQL.

pipeline         sessions in libpq's pipeline mode
transaction      from BEGIN and `enter` to COMMIT, under leases (section 6)
entering         the door: `enter` for each version in use (T2)
deadline         what ends a transaction with its leases, and moves when they are renewed (T4)
relay            rows of a user's statement on their way to its client
staging          a session in which PostgreSQL reads the data of a COPY FROM
pinned           a session at the store that a client keeps between its transactions
reader           the role of users' texts, and settings around one
refusals         errors of the store in the terms of a client; those of an old schema count if something vouches for it
lost_commit      asks until it is known what became of a COMMIT whose session was lost (T7)
name_resolution  from names to the versions that a transaction uses (L12)
name_cache       from names to ids
numbers          numbers of identity columns, from sequences
last_numbers     those that a session took last
"""
