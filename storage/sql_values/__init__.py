"""Stored values as PostgreSQL's own: `storage.encoding` as expressions of SQL, run by others.

    v of a column's pair   ->  decode_sql       ->  a value of the column's type, modifier included
    K(r)                   ->  decode_key_sql   ->  the same, of a key column
    a value                ->  encode_key_sql   ->  its bytes in a key, for k = ..
                           ->  encode_value_sql ->  its bytes in a pair

    syntax     calls, casts and constants
    decoding   bytes to values
    encoding   values to bytes
    keys       parts of keys, and K(r) in an entry

PostgreSQL inlines plain expressions, so there is no function to make, to grant or to migrate. An expression is *right
under every setting* of the client in whose statement it stands: no value passes through a text that DateStyle,
IntervalStyle, bytea_output, extra_float_digits or TimeZone shapes. It has no percent sign (placeholders), and names
functions and types with pg_catalog. Casts of bytea to whole numbers need PostgreSQL 18.
"""

from storage.sql_values.decoding import decode_sql
from storage.sql_values.encoding import FIXED_SETTINGS, can_encode, encode_key_sql, encode_value_sql
from storage.sql_values.keys import decode_key_sql, row_key_of_entry_sql

__all__ = [
    "FIXED_SETTINGS", "can_encode", "decode_key_sql", "decode_sql", "encode_key_sql", "encode_value_sql",
    "row_key_of_entry_sql",
]  # fmt: skip
