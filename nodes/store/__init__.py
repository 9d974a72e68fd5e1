"""A node's side of PostgreSQL.

pipeline         sessions in libpq's pipeline mode
transaction      SERIALIZABLE, under leases, with a deadline (section 6)
lost_commit      what became of a transaction whose session was lost at COMMIT (T7)
name_resolution  from names to the versions that a transaction uses (L12)
name_cache       from names to ids, and identity numbers
"""
