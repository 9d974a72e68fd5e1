-- intervals in each style, as values, as texts, in arrays
SELECT x::interval FROM (VALUES ('1 year 2 mons -3 days 04:05:06.7'), ('0'), ('-1-2'), ('1-2'), ('3 4:05:06'), ('-3 -4:05:06'), ('-0.5'), ('1 day 1 sec'), ('-1 day'), ('1 mon -1 sec'), ('100:00:01'), ('1 min'), ('1 year -1 mon')) AS v(x);
SET IntervalStyle = postgres_verbose;
SELECT x::interval, x::interval::text, 'in ' || x::interval FROM (VALUES ('1 year 2 mons -3 days 04:05:06.7'), ('0'), ('-1-2'), ('1-2'), ('3 4:05:06'), ('-3 -4:05:06'), ('-0.5'), ('1 day 1 sec'), ('-1 day'), ('1 mon -1 sec'), ('100:00:01'), ('1 min'), ('1 year -1 mon'), ('-1 year 1 sec'), ('@ 1 day ago')) AS v(x);
SET IntervalStyle = sql_standard;
SELECT x::interval, x::interval::text, concat(x::interval) FROM (VALUES ('1 year 2 mons -3 days 04:05:06.7'), ('0'), ('-1-2'), ('1-2'), ('3 4:05:06'), ('-3 4:05:06'), ('-3 +4:05:06'), ('-0.5'), ('1 day 1 sec'), ('-1 day'), ('1 mon -1 sec'), ('100:00:01'), ('1 min'), ('-1 day 2 hours')) AS v(x);
SELECT interval '-1 1:00:00', '-1 day 2 hours'::interval, interval '-1 day +2 hours', interval '-1-2 3 4:05:06', ARRAY[interval '1 day', '-1-2'];
SET IntervalStyle = 'ISO_8601';
SELECT x::interval, x::interval::text FROM (VALUES ('1 year 2 mons -3 days 04:05:06.7'), ('0'), ('-1-2'), ('1-2'), ('3 4:05:06'), ('-0.5'), ('1 day 1 sec'), ('1 mon -1 sec'), ('100:00:01'), ('1 min'), ('P1Y2M-3DT4H'), ('-0.000001')) AS v(x);
SHOW IntervalStyle;
SET IntervalStyle = german;
RESET IntervalStyle;
SELECT interval '-1 1:00:00', age(TIMESTAMP '2024-02-29', TIMESTAMP '2020-01-31');
