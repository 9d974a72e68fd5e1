"""Stored pairs against the schema, in one exported snapshot.

audit               the seven clauses over a whole table
range_check         one range: rows, columns, constraints, entries, by
row_checks            values and rules
entry_checks          entries of an index, both ways
entry_merge           entries beside each other in key order
placement_checks      rows in a placement that is not read, both ways
foreign_key_checks    what rows refer to
orphan_checks         pairs that no element accounts for
repeated_rows         rows that exist on more than one storage
lookups             pairs and rows by key
"""

from storage import arrow

assert arrow
