"""A node's side of PostgreSQL.

pipeline         sessions in libpq's pipeline mode
transaction      SERIALIZABLE, under leases, with a deadline (section 6)
name_resolution  from names to the versions that a transaction uses (L12)
name_cache       from names to ids, and identity numbers
"""
