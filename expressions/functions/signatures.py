"""The types that PostgreSQL's operators and functions take and give, as far as no value of them is computed here.

    round trunc : numeric > numeric ; numeric int4 > numeric       names : arguments > result ; ..

A is an array and E its element, S any type that a column may have, O one that has an order. The last argument of a name
with a star may be repeated. PostgreSQL has the last word: what has a line here is still its to refuse.
"""

from collections.abc import Iterator

from expressions.functions.overloads import Named, Overload
from expressions.sqltypes import ARRAY_OF, BOOL, DOCUMENTS, STORED, UUID, VARCHAR, Type, array_type_named, type_named

OPERATORS = """
= <> < <= > >= : A A > bool ; jsonb jsonb > bool
|| : A A > A ; A E > A ; E A > A ; bytea bytea > bytea ; jsonb jsonb > jsonb
@> <@ : A A > bool ; jsonb jsonb > bool
&& : A A > bool
+ : date int4 > date ; int4 date > date ; date interval > timestamp ; interval date > timestamp
    ; timestamp interval > timestamp ; interval timestamp > timestamp ; timestamptz interval > timestamptz
    ; interval timestamptz > timestamptz ; date time > timestamp ; time date > timestamp
    ; interval interval > interval ; time interval > time ; interval time > time
- : date int4 > date ; date interval > timestamp ; timestamp interval > timestamp
    ; timestamptz interval > timestamptz ; timestamp timestamp > interval ; timestamptz timestamptz > interval
    ; interval interval > interval ; interval > interval ; time interval > time ; time time > interval
    ; jsonb text > jsonb ; jsonb int4 > jsonb ; jsonb text[] > jsonb
* : interval float8 > interval ; float8 interval > interval
/ : interval float8 > interval
& | # : int2 int2 > int2 ; int4 int4 > int4 ; int8 int8 > int8
~ : int2 > int2 ; int4 > int4 ; int8 > int8 ; text text > bool
<< >> : int2 int4 > int2 ; int4 int4 > int4 ; int8 int4 > int8
@ : int2 > int2 ; int4 > int4 ; int8 > int8 ; numeric > numeric ; float4 > float4 ; float8 > float8
^ : float8 float8 > float8 ; numeric numeric > numeric
|/ ||/ : float8 > float8
~<~ ~<=~ ~>~ ~>=~ : text text > bool ; bpchar bpchar > bool
^@ ~~* !~~* !~ ~* !~* : text text > bool
~~ !~~ : bytea bytea > bool
-> : json text > json ; jsonb text > jsonb ; json int4 > json ; jsonb int4 > jsonb
->> : json text > text ; jsonb text > text ; json int4 > text ; jsonb int4 > text
#> : json text[] > json ; jsonb text[] > jsonb
#>> : json text[] > text ; jsonb text[] > text
? : jsonb text > bool
?| ?& : jsonb text[] > bool
#- : jsonb text[] > jsonb
"""

FUNCTIONS = """
width_bucket : E A > int4 ; float8 float8 float8 int4 > int4
cardinality array_ndims : A > int4
array_length array_lower array_upper : A int4 > int4
array_dims : A > text
array_to_string : A text > text ; A text text > text
array_cat : A A > A
array_append : A E > A
array_prepend : E A > A
array_reverse array_shuffle : A > A
trim_array array_sample : A int4 > A
array_fill : E int4[] > A ; E int4[] int4[] > A
array_position : A E > int4 ; A E int4 > int4
array_remove : A E > A
array_replace : A E E > A
array_positions : A E > int4[]
array_sort : A > A ; A bool > A ; A bool bool > A
mod : int2 int2 > int2 ; int4 int4 > int4 ; int8 int8 > int8 ; numeric numeric > numeric
gcd lcm : int4 int4 > int4 ; int8 int8 > int8
ceil ceiling floor sign sqrt ln log10 exp : numeric > numeric ; float8 > float8
round trunc : numeric > numeric ; numeric int4 > numeric ; float8 > float8
log : numeric > numeric ; numeric numeric > numeric ; float8 > float8
trim_scale : numeric > numeric
div : numeric numeric > numeric
power pow : numeric numeric > numeric ; float8 float8 > float8
scale min_scale : numeric > int4
sin cos tan asin acos atan cbrt degrees radians erf erfc gamma lgamma sind cosd tand asind acosd atand asinh sinh cosh
    tanh cot acosh atanh : float8 > float8
atan2 : float8 float8 > float8
pi : > float8
random : > float8 ; int4 int4 > int4
length : bytea > int4
octet_length bit_length : text > int4 ; bytea > int4
substr : text int4 > text ; text int4 int4 > text ; bytea int4 > bytea ; bytea int4 int4 > bytea
substring : text int4 > text ; text int4 int4 > text ; text text > text ; bytea int4 > bytea
    ; bytea int4 int4 > bytea
left right repeat : text int4 > text
position : text text > int4 ; bytea bytea > int4
strpos : text text > int4
replace translate : text text text > text
reverse concat* quote_literal quote_nullable initcap quote_ident : text > text
lpad rpad : text int4 > text ; text int4 text > text
btrim ltrim rtrim : text > text ; text text > text ; bytea bytea > bytea
split_part : text text int4 > text
starts_with pg_input_is_valid : text text > bool
ascii : text > int4
chr : int4 > text
md5 : text > text ; bytea > text
concat_ws* : text text > text
to_hex to_bin to_oct : int4 > text ; int8 > text
overlay : text text int4 > text ; text text int4 int4 > text
clock_timestamp : > timestamptz
date_part : text date > float8 ; text timestamp > float8 ; text timestamptz > float8 ; text interval > float8
    ; text time > float8
extract : text date > numeric ; text timestamp > numeric ; text timestamptz > numeric ; text interval > numeric
    ; text time > numeric
date_trunc : text timestamp > timestamp ; text timestamptz > timestamptz ; text date > timestamptz
    ; text interval > interval
timezone : text timestamptz > timestamp ; text timestamp > timestamptz
make_date : int4 int4 int4 > date
to_timestamp : float8 > timestamptz ; text text > timestamp
isfinite : date > bool ; timestamp > bool ; timestamptz > bool
age : timestamp timestamp > interval ; timestamptz timestamptz > interval
date_bin : interval timestamp timestamp > timestamp
make_timestamp : int4 int4 int4 int4 int4 float8 > timestamp
uuidv7 gen_random_uuid uuidv4 : > uuid
parse_ident : text > text[]
pg_size_pretty : int8 > text ; numeric > text
getdatabaseencoding pg_client_encoding : > text
json_typeof : json > text
json_array_length : json > int4
jsonb_typeof jsonb_pretty : jsonb > text
jsonb_array_length : jsonb > int4
jsonb_set jsonb_insert : jsonb text[] jsonb > jsonb ; jsonb text[] jsonb bool > jsonb
jsonb_strip_nulls : jsonb > jsonb
json_object : text[] > json ; text[] text[] > json
jsonb_object : text[] > jsonb ; text[] text[] > jsonb
string_to_array regexp_match regexp_split_to_array : text text > text[] ; text text text > text[]
current_schemas : bool > name[]
regexp_like : text text > bool ; text text text > bool
similar_to_escape : text > text ; text text > text
to_char : numeric text > text ; int4 text > text ; int8 text > text ; float4 text > text ; float8 text > text
    ; interval text > text
to_number : text text > numeric
to_date : text text > date
regexp_count : text text > int4 ; text text int4 > int4 ; text text int4 text > int4
regexp_instr : text text > int4 ; text text int4 > int4 ; text text int4 int4 > int4
    ; text text int4 int4 int4 > int4 ; text text int4 int4 int4 text > int4
    ; text text int4 int4 int4 text int4 > int4
regexp_substr : text text > text ; text text int4 > text ; text text int4 int4 > text
    ; text text int4 int4 text > text ; text text int4 int4 text int4 > text
regexp_replace : text text text > text ; text text text text > text ; text text text int4 > text
    ; text text text int4 int4 > text ; text text text int4 int4 text > text
bit_count : bytea > int8
get_byte : bytea int4 > int4
set_byte : bytea int4 int4 > bytea
get_bit : bytea int8 > int4
set_bit : bytea int8 int4 > bytea
sha224 sha256 sha384 sha512 : bytea > bytea
encode convert_from : bytea text > text
decode convert_to : text text > bytea
justify_hours justify_days justify_interval : interval > interval
make_interval : int4 > interval ; int4 int4 > interval ; int4 int4 int4 > interval
    ; int4 int4 int4 int4 > interval ; int4 int4 int4 int4 int4 > interval
    ; int4 int4 int4 int4 int4 int4 > interval ; int4 int4 int4 int4 int4 int4 float8 > interval
make_time : int4 int4 float8 > time
factorial : int8 > numeric
"""

SETS = """
unnest : A > E
generate_subscripts : A int4 > int4 ; A int4 bool > int4
generate_series : int4 int4 > int4 ; int4 int4 int4 > int4 ; int8 int8 > int8 ; int8 int8 int8 > int8
string_to_table regexp_split_to_table : text text > text ; text text text > text
regexp_matches : text text > text[] ; text text text > text[]
json_array_elements : json > json
json_array_elements_text json_object_keys : json > text
jsonb_array_elements : jsonb > jsonb
jsonb_array_elements_text jsonb_object_keys : jsonb > text
"""

AGGREGATES = """
count : S > int8
min max : O > O ; A > A
any_value : S > S
array_agg : E > A
sum : int2 > int8 ; int4 > int8 ; int8 > numeric ; numeric > numeric ; interval > interval ; float4 > float4
    ; float8 > float8
avg : int2 > numeric ; int4 > numeric ; int8 > numeric ; numeric > numeric ; interval > interval
    ; float4 > float8 ; float8 > float8
stddev stddev_samp stddev_pop variance var_samp var_pop : float8 > float8 ; int2 > numeric ; int4 > numeric
    ; int8 > numeric ; numeric > numeric
corr covar_pop covar_samp regr_slope regr_intercept regr_r2 regr_avgx regr_avgy regr_sxx regr_syy regr_sxy :
    float8 float8 > float8
bool_and every bool_or : bool > bool
string_agg : text text > text
bit_and bit_or bit_xor : int2 > int2 ; int4 > int4 ; int8 > int8
"""

WINDOW_ONLY = """
first_value last_value : S > S
nth_value : S int4 > S
lag lead : S > S ; S int4 > S ; S int4 S > S
row_number rank dense_rank : > int8
percent_rank cume_dist : > float8
ntile : int4 > int4
"""

_ARRAYS = tuple(ARRAY_OF.items())
_STORED = tuple((of, ARRAY_OF.get(of, of)) for of in STORED)
_SORTED = tuple((of, of) for of in STORED if of not in (BOOL, UUID, VARCHAR, *DOCUMENTS))
_KINDS = {"A": _ARRAYS, "E": _ARRAYS, "S": (*_STORED, *((of, of) for of in ARRAY_OF.values())), "O": _SORTED}


def overloads_of(lines: str) -> Named:
    """The overloads that lines such as those above say."""
    for line in lines.strip().replace("\n    ", " ").splitlines():
        names, _, signatures = line.partition(" : ")
        for signature in signatures.split(" ; "):
            args, _, result = f" {signature}".partition(" > ")
            for overload in _overloads(args.split(), result):
                for name in names.split():
                    is_variadic = len(name) > 1 and name[-1] == "*" and name[0].isalpha()
                    yield name.rstrip("*") if is_variadic else name, Overload(*overload, variadic=is_variadic)


def _overloads(args: list[str], result: str) -> Iterator[tuple[tuple[Type, ...], Type]]:
    """One overload for each type that a letter may stand for."""
    letter = next((word for word in (*args, result) if word in _KINDS), None)
    if letter is None:
        yield tuple(map(_type, args)), _type(result)
        return
    for element, array in _KINDS[letter]:
        chosen = {"A": array, "E": element, "S": element, "O": element}
        of = [chosen[word] if word in chosen else _type(word) for word in (*args, result)]
        yield tuple(of[:-1]), of[-1]


def _type(word: str) -> Type:
    return array_type_named(word[:-2], -1) if word.endswith("[]") else type_named(word, -1)
