"""Functions of pg_catalog that a user's text may call: an allow list. Immutable ones are allowed but for
`IMMUTABLE_REFUSED` and those that take a value that only the server has; stable and volatile ones by name.

Volatility alone is no boundary: the stable `table_to_xml` reads any table, `pg_prepared_statement` shows other clients'
statements. `current_user` and the like would answer for the node's session. TZ stands for `timestamp with time zone`,
TS for `timestamp without time zone`.
"""


def _signatures(text: str) -> tuple[str, ...]:
    full = text.replace("TZ", "timestamp with time zone").replace("TS", "timestamp without time zone")
    return tuple(signature.strip() for line in full.splitlines() for signature in line.split(";") if signature.strip())


_TIMES = """
age(TZ); age(TS); date(TZ); date_add(TZ, interval); date_cmp_timestamptz(date, TZ); date_eq_timestamptz(date, TZ);
date_ge_timestamptz(date, TZ); date_gt_timestamptz(date, TZ); date_le_timestamptz(date, TZ);
date_lt_timestamptz(date, TZ); date_ne_timestamptz(date, TZ); date_part(text, TZ); date_subtract(TZ, interval);
date_trunc(text, TZ); extract(text, TZ); generate_series(TZ, TZ, interval); interval_pl_timestamptz(interval, TZ);
make_timestamptz(integer, integer, integer, integer, integer, double precision);
make_timestamptz(integer, integer, integer, integer, integer, double precision, text); now();
overlaps(TZ, interval, TZ, interval); overlaps(TZ, interval, TZ, TZ); overlaps(TZ, TZ, TZ, interval);
statement_timestamp(); time(TZ); timestamp(TZ); timestamp_cmp_timestamptz(TS, TZ);
timestamp_eq_timestamptz(TS, TZ); timestamp_ge_timestamptz(TS, TZ); timestamp_gt_timestamptz(TS, TZ);
timestamp_le_timestamptz(TS, TZ); timestamp_lt_timestamptz(TS, TZ); timestamp_ne_timestamptz(TS, TZ);
timestamptz(date); timestamptz(date, time without time zone); timestamptz(TS); timestamptz_cmp_date(TZ, date);
timestamptz_cmp_timestamp(TZ, TS); timestamptz_eq_date(TZ, date); timestamptz_eq_timestamp(TZ, TS);
timestamptz_ge_date(TZ, date); timestamptz_ge_timestamp(TZ, TS); timestamptz_gt_date(TZ, date);
timestamptz_gt_timestamp(TZ, TS); timestamptz_le_date(TZ, date); timestamptz_le_timestamp(TZ, TS);
timestamptz_lt_date(TZ, date); timestamptz_lt_timestamp(TZ, TS); timestamptz_mi_interval(TZ, interval);
timestamptz_ne_date(TZ, date); timestamptz_ne_timestamp(TZ, TS); timestamptz_pl_interval(TZ, interval);
timetz(time without time zone); timetz(TZ); timezone(text, time with time zone); timezone(time with time zone);
timezone(TZ); timezone(TS); to_char(TZ, text); to_char(TS, text); to_date(text, text); to_timestamp(text, text);
transaction_timestamp()
"""
"""Times: the time zone of the session, or the time of the transaction."""

_TEXTS = """
anytextcat(anynonarray, text); array_to_string(anyarray, text); array_to_string(anyarray, text, text);
concat("any"); concat_ws(text, "any"); convert(bytea, name, name); convert_from(bytea, name);
convert_to(text, name); enum_first(anyenum); enum_last(anyenum); enum_range(anyenum);
enum_range(anyenum, anyenum); format(text); format(text, "any"); format_type(oid, integer); length(bytea, name);
money(bigint); money(integer); money(numeric); numeric(money); pg_collation_for("any"); pg_column_size("any");
pg_typeof("any"); quote_literal(anyelement); quote_nullable(anyelement); textanycat(text, anynonarray);
to_char(bigint, text); to_char(double precision, text); to_char(integer, text); to_char(interval, text);
to_char(numeric, text); to_char(real, text); to_number(text, text);
to_regtype(text); to_regtypemod(text); pg_input_is_valid(text, text); pg_input_error_info(text, text)
"""
"""Formats, texts of values, and types of values."""

_JSON = """
array_to_json(anyarray); array_to_json(anyarray, boolean); json_agg(anyelement); json_agg_strict(anyelement);
json_build_array("any"); json_build_array(); json_build_object("any"); json_build_object();
json_object_agg("any", "any"); json_object_agg_strict("any", "any"); json_object_agg_unique("any", "any");
json_object_agg_unique_strict("any", "any"); json_populate_record(anyelement, json, boolean);
json_populate_recordset(anyelement, json, boolean); json_to_record(json); json_to_recordset(json);
json_to_tsvector(json, jsonb); jsonb_agg(anyelement); jsonb_agg_strict(anyelement); jsonb_build_array("any");
jsonb_build_array(); jsonb_build_object("any"); jsonb_build_object();
jsonb_path_exists_tz(jsonb, jsonpath, jsonb, boolean); jsonb_path_match_tz(jsonb, jsonpath, jsonb, boolean);
jsonb_path_query_array_tz(jsonb, jsonpath, jsonb, boolean);
jsonb_path_query_first_tz(jsonb, jsonpath, jsonb, boolean); jsonb_path_query_tz(jsonb, jsonpath, jsonb, boolean);
jsonb_populate_record(anyelement, jsonb); jsonb_populate_record_valid(anyelement, jsonb);
jsonb_populate_recordset(anyelement, jsonb); jsonb_to_record(jsonb); jsonb_to_recordset(jsonb);
jsonb_to_tsvector(jsonb, jsonb); row_to_json(record); row_to_json(record, boolean); to_json(anyelement);
to_jsonb(anyelement)
"""
"""JSON out of values, and values out of JSON."""

_SEARCH = """
phraseto_tsquery(text); plainto_tsquery(text); to_tsquery(text); to_tsvector(json); to_tsvector(jsonb);
to_tsvector(text); ts_headline(json, tsquery); ts_headline(json, tsquery, text); ts_headline(jsonb, tsquery);
ts_headline(jsonb, tsquery, text); ts_headline(text, tsquery); ts_headline(text, tsquery, text);
ts_match_tq(text, tsquery); ts_match_tt(text, text); websearch_to_tsquery(text)
"""
"""Text search by the default configuration, whose files come with PostgreSQL."""

_CONVERSIONS = """
date_in(cstring); date_out(date); time_in(cstring, oid, integer); timetz_in(cstring, oid, integer);
timestamp_in(cstring, oid, integer); timestamp_out(TS); timestamptz_in(cstring, oid, integer); timestamptz_out(TZ);
interval_in(cstring, oid, integer); interval_out(interval); cash_in(cstring); cash_out(money);
array_in(cstring, oid, integer); array_out(anyarray); anyarray_out(anyarray); record_in(cstring, oid, integer);
record_out(record); range_in(cstring, oid, integer); range_out(anyrange); multirange_in(cstring, oid, integer);
multirange_out(anymultirange); enum_in(cstring, oid); enum_out(anyenum)
"""
"""From and to text. The planner asks for the right to them where it computes a cast of a constant."""

STABLE = (
    _signatures(_TIMES) + _signatures(_TEXTS) + _signatures(_JSON) + _signatures(_SEARCH) + _signatures(_CONVERSIONS)
)

VOLATILE = _signatures("""
clock_timestamp(); timeofday(); random(); random(integer, integer); random(bigint, bigint); random(numeric, numeric);
random_normal(double precision, double precision); gen_random_uuid(); uuidv4(); uuidv7(); uuidv7(interval);
array_shuffle(anyarray); array_sample(anyarray, integer)
""")
"""Values of chance and of the clock. `setseed` is not among them: it would stay in a session that others use next."""

IMMUTABLE_REFUSED = _signatures("""
satisfies_hash_partition(oid, integer, integer, "any"); pg_partition_root(regclass); pg_walfile_name(pg_lsn);
pg_walfile_name_offset(pg_lsn); postgresql_fdw_validator(text[], oid); pg_indexam_progress_phasename(oid, bigint)
""")
"""They open a table without asking for its privileges, or speak of the server's files and catalogs."""

OF_THE_SERVER = ("internal", "cstring[]")
"""Types of arguments that only the server itself has values of."""
