"""By which names a statement calls what writes and reads numbers by patterns; the query engine calls the same."""

from expressions.number_patterns.reading import to_number
from expressions.number_patterns.sizes import shown_size
from expressions.number_patterns.writing import DOUBLE_DIGITS, REAL_DIGITS, of_float, of_integer, of_numeric, of_whole
from expressions.sqltypes import FLOAT4, FLOAT8, INT4, INT8, NUMERIC, TEXT
from expressions.values.own import lines

FUNCTIONS = tuple(
    lines(
        "number_pattern",
        ("to_char", (NUMERIC, TEXT), TEXT, of_numeric),
        ("to_char", (INT4, TEXT), TEXT, of_integer),
        ("to_char", (INT8, TEXT), TEXT, of_whole),
        ("to_char", (FLOAT4, TEXT), TEXT, of_float(REAL_DIGITS)),
        ("to_char", (FLOAT8, TEXT), TEXT, of_float(DOUBLE_DIGITS)),
        ("pg_size_pretty", (NUMERIC,), TEXT, shown_size),
        ("to_number", (TEXT, TEXT), NUMERIC, to_number),
    )
)
