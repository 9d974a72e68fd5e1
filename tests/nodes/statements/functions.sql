-- Functions by use.
SELECT sinh(1), cosh(1), tanh(0.5), cot(1), ||/ 27.0, to_hex(255), to_hex(-1), to_hex(-1::bigint), to_bin(5), to_bin(-2::bigint);
SELECT width_bucket(5.35::float8, 0.024, 10.06, 5), width_bucket(-1::float8, 0, 10, 5), width_bucket(10::float8, 0, 10, 5), width_bucket(3::float8, 10, 0, 5);
SELECT width_bucket(1::float8, 0, 10, 0);
SELECT width_bucket(1::float8, 3, 3, 2);
SELECT bit_length('aé'), initcap('hi THOMAS o''neil x2y'), initcap(''), initcap(NULL) FROM people WHERE id = 1;
SELECT overlay('Txxxxas' placing 'hom' from 2 for 4), overlay('abcdef' placing 'X' from 2), overlay('abc' placing 'X' from 9), overlay('abc' placing 'XY' from 1 for 0);
SELECT overlay('abc' placing 'X' from 0);
SELECT regexp_like('abc', 'b'), regexp_count('abcabc', 'b'), regexp_substr('foobar', 'o.'), regexp_substr('foobar', 'x'), regexp_split_to_array('a b  c', '\s+'), regexp_split_to_array('', ',');
SELECT * FROM regexp_split_to_table('a, b', ',\s*') s;
SELECT regexp_split_to_table(name, 'n') FROM people WHERE id = 1;
SELECT to_char(DATE '2024-02-29', 'YYYY-MM-DD'), to_char(TIMESTAMP '2024-02-29 13:04:05.678', 'Day, DD Mon YYYY HH12:MI:SS AM MS US');
SELECT to_char(TIMESTAMP '2024-02-09 13:04:05', 'FMDay, FMDDth FMMonth FMHH24:FMMI'), to_char(TIMESTAMP '2024-02-29', 'IYYY-IW-ID Q DDD D WW W CC');
SELECT to_char(TIMESTAMP '2021-01-01 00:00:00', 'IYYY-IW-ID HH12 HH am SSSSS YYY YY Y'), to_char(TIMESTAMP '2024-12-31 23:59:59.999999', 'DAY day DY dy MONTH month MON mon PM pm');
SELECT to_char(DATE '2024-03-01', '"Tag" DD.MM.YY {x} ''q'' %Y/%m'), to_char(DATE '2024-03-01', ''), to_char(DATE '2024-03-01', 'DDth DDTH "th"MMth'), to_char(DATE '2024-03-11', 'FMDDth');
SELECT to_char(born, 'DD.MM.YYYY'), to_char(seen, 'HH24:MI:SS.US'), to_char(at, 'YYYY-MM-DD HH24:MI') FROM people ORDER BY id;
SELECT to_char(born, 'YYYY-MM') AS month, count(*) FROM people GROUP BY 1 ORDER BY 1;
SELECT age(TIMESTAMP '2024-02-29', TIMESTAMP '2020-01-31'), age(TIMESTAMP '2020-01-31 10:00', TIMESTAMP '2024-02-29 11:30'), age(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-01'), age(DATE '2024-02-29', DATE '2023-02-28');
SELECT date_bin('15 minutes', TIMESTAMP '2020-02-11 15:44:17', TIMESTAMP '2001-01-01'), date_bin('7 days', TIMESTAMP '2000-12-31', TIMESTAMP '2001-01-01 00:02:30');
SELECT date_bin('1 month', TIMESTAMP '2020-02-11 15:44:17', TIMESTAMP '2001-01-01');
SELECT date_bin('0 days', TIMESTAMP '2020-02-11 15:44:17', TIMESTAMP '2001-01-01');
SELECT make_timestamp(2024, 2, 29, 1, 2, 3.5), isfinite(DATE '2024-01-01'), isfinite(NULL::timestamp);
SELECT g FROM generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-03', INTERVAL '12 hours') g ORDER BY g;
SELECT g::date FROM generate_series(DATE '2024-01-31', DATE '2024-05-01', INTERVAL '1 month') g ORDER BY g;
SELECT g FROM generate_series(TIMESTAMP '2024-01-03', TIMESTAMP '2024-01-01', '-1 day') g ORDER BY g;
SELECT count(*) FROM generate_series(TIMESTAMP '2024-01-03', TIMESTAMP '2024-01-01', '1 day') g;
SELECT g FROM generate_series(TIMESTAMP '2024-01-03', '2024-01-04', '1 day') g ORDER BY g;
SELECT count(*) FROM generate_series(TIMESTAMP '2024-01-03', TIMESTAMP '2024-01-04', '0 days') g;
SELECT day::date, count(o.number) FROM generate_series(TIMESTAMP '2024-01-01', TIMESTAMP '2024-01-04', '1 day') day LEFT JOIN orders o ON o.number = extract(day from day) GROUP BY day ORDER BY day;
SELECT p.id, g FROM people p, generate_series(p.seen, p.seen + INTERVAL '1 day', INTERVAL '1 day') g WHERE p.id IN (1, 5) ORDER BY 1, 2;
SELECT string_agg(DISTINCT item, ','), array_agg(DISTINCT number % 3), array_agg(DISTINCT customer ORDER BY customer DESC) FROM orders;
SELECT any_value(customer), regr_avgx(customer, number), regr_avgy(customer, number), regr_sxx(customer, number), regr_syy(customer, number), regr_sxy(customer, number) FROM orders WHERE customer = 1;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY age), percentile_disc(0.5) WITHIN GROUP (ORDER BY age), mode() WITHIN GROUP (ORDER BY age) FROM people;
SELECT mode() WITHIN GROUP (ORDER BY v) FROM (VALUES (3), (1), (3), (1), (2)) t(v);
SELECT split_part('a,b,c', ',', -1), translate('12345', '143', 'ax'), pg_typeof(now()), pg_typeof('a'), pg_typeof(1.5), pg_typeof(NULL::int[]);
SELECT format('%s %I %L', 'a', 'B c', 'd''e'), format('%L', NULL), format('%L|%s', 1, NULL), format('100%% %L', 'a\b');
SELECT id, ntile(4) OVER (ORDER BY id), ntile(2) OVER w, lag(age) OVER w, nth_value(id, 2) OVER w FROM people WINDOW w AS (ORDER BY id DESC) ORDER BY id;
SELECT (35635196211716912 + g * 1000000007)::float8::text, (-35635196211716912 - g)::float8::text, (1e300 * g)::float8::text FROM generate_series(0, 40) AS g ORDER BY g;
-- doubles: what is too large, too small, or not asked for
SELECT exp(709.0::float8) > 8e307, degrees(1e300::float8), radians(180::float8), degrees(0.5::float8), sinh(1000::float8), cot(0::float8), cos('NaN'::float8), acos('NaN'::float8);
SELECT exp(123456.789::float8);
SELECT exp((-123456.789)::float8);
SELECT degrees(1e308::float8);
SELECT radians(5e-324::float8);
SELECT sin('Infinity'::float8);
SELECT acos(1.5::float8);
SELECT 1e-200::float8 * 1e-200::float8;
SELECT 1e-200::float8 / 1e200::float8;
SELECT 1e-200::float8 ^ 2::float8;
SELECT x * x FROM (VALUES (1e-200::float8)) AS v (x);
SELECT 0::float8 * 1e-200, 1::float8 / 'Infinity', 'Infinity'::float8 ^ (-1)::float8, (0.5::float8) ^ 'Infinity'::float8;
SELECT width_bucket(NULL::float8, 'NaN', 2, -1), width_bucket(1::float8, NULL, 1, 3), width_bucket(1::float8, 0, 2, NULL);
-- dates that are none
SELECT make_date(2024, 13, 1);
SELECT make_date(2024, 2, 100);
SELECT make_timestamp(2024, 7, -5, 3, 4, 5.5);
SELECT make_timestamp(2024, 7, 5, 3, 64, 5.5);
SELECT date '1999-12-31' + 2147483647;
SELECT date '1999-12-31' - (-2147483648);
SELECT to_timestamp('NaN'::float8);
SELECT to_timestamp(1e300::float8);
SELECT date_bin('-1 day', timestamp '2024-01-01', NULL), date_bin('-1 day', NULL::timestamp, timestamp '2024-01-01');
SELECT date_part('epoch', interval '1 year 2 mons -3 days 04:05:06.789'), date_part('epoch', interval '-5 mons 0.1 s');
-- parts of texts
SELECT split_part('a,b', ',', 0);
SELECT split_part(NULL, ',', 0), split_part('a,b', NULL, 0);
SELECT substr('abc', -1, -5);
SELECT substring(t FROM 2 FOR -1) FROM (VALUES ('abc')) AS v (t);
SELECT substr(NULL::text, 1, -1), substr('abc', NULL, -1);
-- separators that are NULL
SELECT string_agg(x, NULL ORDER BY x), string_agg(x, NULL::text ORDER BY x DESC), string_agg(x, '-' ORDER BY x) FROM (VALUES ('a'), ('b'), (NULL)) AS v (x);
-- the type of NULLIF
SELECT nullif(3, 'NaN'::numeric), nullif(1, 1.5), nullif(2, 2::float8), nullif(1.5, 2::float8), nullif(1::smallint, 2::bigint);
SELECT pg_typeof(nullif(3, 'NaN'::numeric)), pg_typeof(nullif(1, 1.5)), pg_typeof(nullif(2, 2::float8)), pg_typeof(nullif(1.5, 2::float8)), pg_typeof(nullif(1::smallint, 2::bigint));
SELECT split_part(t, '', n) FROM (VALUES ('a,b'), (NULL), ('')) AS v (t), generate_series(-2, 2) AS n WHERE n <> 0 ORDER BY t, n;
SELECT pg_typeof(nullif(NULL, 1)), pg_typeof(nullif('1', 1)), nullif('1', 1), pg_typeof(nullif('a'::varchar(3), 'b')), pg_typeof(nullif('a'::varchar, 'a'::char(3))), nullif('2024-01-01', date '2024-01-02'), nullif('{1}', '{2}'::int[]), nullif('2', 1.5);
-- moments beyond the calendar
SELECT timestamp '2024-01-01' + interval '300000 years';
SELECT x - interval '300000 years' FROM (VALUES (timestamp '2024-01-01')) AS v (x);
-- LIKE: an escape character at the end is a mistake where text is left
SELECT t LIKE p, t NOT LIKE p, t ILIKE p, t NOT ILIKE p FROM (VALUES ('abc', 'abc\'), ('abc', 'x\'), ('', '\'), ('', '%\'), ('abc', '%c\'), ('a\', 'a\\'), ('a\', 'a\\\'), (NULL, '\'), ('a', NULL), (E'a\nb', E'a\nb\\')) AS v (t, p);
SELECT 'abc' LIKE 'abc\', 'abc' NOT LIKE 'abc\', 'abc' ILIKE 'ABC\', 'abc' LIKE 'abc#' ESCAPE '#', 'abc' LIKE ANY (ARRAY['x', 'abc\']);
SELECT t LIKE 'abc\' FROM (VALUES ('ab'), ('abcd')) AS v (t);
SELECT t NOT ILIKE 'AB\' FROM (VALUES ('abc')) AS v (t);
SELECT 'abc' LIKE '%\';
SELECT id FROM people WHERE name LIKE name || '\' OR name ILIKE name || '\';
SELECT id, upper(name), lower(name), length(name), left(name, 2), right(name, 2), reverse(name), md5(name), name || 'x', replace(name, 'n', 'm'), lpad(name, 9, '*'), rpad(name, 9, '*'), btrim(name, 'A'), position('n' in name), strpos(name, 'e'), starts_with(name, 'A'), repeat(name, 2), translate(name, 'abn', 'xyz'), split_part(name, 'n', 1), octet_length(name), ascii(name), concat(name, '-', id), substr(name, 2), name LIKE 'A%', name ~ 'n' FROM people WHERE id <> 3 ORDER BY id;
SELECT upper(name), max(lower(name)), upper(max(name)), length(string_agg(upper(name) || lower(name), ',' ORDER BY id)), length(max(left(name, 1))), length(max(left(name, 2))), length(max(left(name, 3))), length(max(left(name, 4))), length(max(left(name, 5))), length(max(left(name, 6))), length(max(left(name, 7))), length(max(left(name, 8))), length(max(left(name, 9))), length(max(left(name, 10))), length(max(left(name, 11))) FROM people WHERE id <> 3 GROUP BY upper(name) ORDER BY 1;
SELECT id, upper(first_value(lower(name)) OVER (PARTITION BY length(name) ORDER BY id)), lag(left(name, 1)) OVER (ORDER BY right(name, 1), id), upper((SELECT max(lower(p.name)) FROM people p WHERE length(p.name) = length(people.name))), left(reverse(name), 1), left(reverse(name), 2), left(reverse(name), 3), left(reverse(name), 4), left(reverse(name), 5), left(reverse(name), 6), left(reverse(name), 7), left(reverse(name), 8), left(reverse(name), 9) FROM people WHERE id <> 3 AND length(upper(name)) >= 0 ORDER BY reverse(name), id;
