"""Patterns of numbers: to_char, to_number, and pg_size_pretty.

pattern  the parts of a pattern, and its columns
writing  a number by a pattern
reading  a text by a pattern
sizes    bytes as kB, MB ..
calls    by which names a statement calls them

    to_char(1234.5, 'FM9,999.00')           1,234.50
    to_char(-5, 'S099')                     -005
    to_char(485, 'FMRN')                    CDLXXXV
    to_number('12,454.8-', '99G999D9S')     -12454.8
"""
