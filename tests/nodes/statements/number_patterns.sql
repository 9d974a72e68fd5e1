-- numbers by patterns
SELECT to_char(1234.5, '9,999.99'), to_char(-1234.5, 'FM9,999.00'), to_char(485, 'RN'), to_char(485, 'FMrn'), to_char(12, 'S099'), to_char(-12, '99MI'), to_char(12, 'PL99'), to_char(-12, '99PR'), to_char(3, '9th'), to_char(21, 'FM99TH'), to_char(0.1, '9.9'), to_char(0.1, 'FM9.9'), to_char(0.1, '0.9'), to_char(12.45, '99V9'), to_char(148.5, '999D999'), to_char(3148.5, '9G999D999'), to_char(485, '"Good number:"999'), to_char(1e10, '9.99EEEE'), to_char(-0.001234, '9.999EEEE'), to_char(12345, '999'), to_char('NaN'::numeric, '999.9'), to_char(NULL::numeric, '9');
SELECT to_char(12::smallint, '99'), to_char(1234567890123, '9,999,999,999,999'), to_char(1.5::real, '9.99'), to_char(1234567.891::float8, '9999999.999'), to_char(0.1::float8 + 0.2::float8, '0.99999999999999999'), to_char('Infinity'::float8, '999'), to_char(2.5::float8, '9'), to_char(-0.4::float8, '9'), to_char(-0.4, '9'), to_char(5, ''), to_char(5, 'L9 $');
SELECT to_char(5, '9S9MI');
SELECT to_char(5, '9..9');
SELECT to_char(5, '9PR9');
SELECT to_char(5, 'EEEE9');
SELECT to_char(id, 'FM000'), to_char(score, '990.0'), to_char(big, 'S99999999'), to_char(age, repeat('9', id)) FROM people ORDER BY id;
SELECT pg_typeof(to_number('1', '9'))::text, to_number('12,454.8-', '99G999D9S'), to_number('-$1,234.56', 'L9,999.99'), to_number('<12>', '99PR'), to_number('1.2', '99'), to_number('0012', '9999'), to_number('123', '99V9'), to_number('', '99') IS NULL FROM people WHERE id = 1 AND false;
SELECT to_number('12,454.8-', '99G999D9S'), to_number('-1,234.56', '9,999.99'), to_number('<12>', '99PR'), to_number('1.2', '99'), to_number('0012', '9999'), to_number('123', '99V9'), to_number('5', '');
SELECT to_number('x', '9');
SELECT to_number('1234', '9D9');
-- NULLs, spans of time
SELECT num_nulls(1, NULL, 'a', NULL), num_nonnulls(1, NULL, 'a'), num_nulls(ARRAY[1, NULL]), num_nulls(NULL::jsonb, now());
SELECT id, num_nulls(name, age, score) FROM people ORDER BY id;
SELECT num_nulls();
SELECT (DATE '2001-02-16', DATE '2001-12-21') OVERLAPS (DATE '2001-10-30', DATE '2002-10-30'), (DATE '2001-02-16', INTERVAL '100 days') OVERLAPS (DATE '2001-10-30', DATE '2002-10-30'), (DATE '2001-10-29', DATE '2001-10-30') OVERLAPS (DATE '2001-10-30', DATE '2001-10-31'), (DATE '2001-10-30', DATE '2001-10-30') OVERLAPS (DATE '2001-10-30', DATE '2001-10-31'), (TIME '10:00', TIME '11:00') OVERLAPS (TIME '10:30', INTERVAL '1 hour'), (DATE '2002-01-01', DATE '2001-01-01') OVERLAPS (DATE '2001-06-01', DATE '2001-06-02');
SELECT (TIMESTAMP '2020-01-01', NULL) OVERLAPS (TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-02'), (TIMESTAMP '2020-01-01', NULL) OVERLAPS (TIMESTAMP '2019-01-01', TIMESTAMP '2020-01-02'), (NULL, TIMESTAMP '2020-01-01') OVERLAPS (TIMESTAMP '2021-01-01', NULL), (TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-03') OVERLAPS (TIMESTAMP '2020-01-02', NULL), (TIMESTAMP '2020-01-01', TIMESTAMP '2020-01-03') OVERLAPS ('2020-01-02', '2020-01-05');
SELECT (seen, INTERVAL '1 day') OVERLAPS (seen + INTERVAL '1 hour', seen + INTERVAL '2 days') FROM people ORDER BY id;
SELECT (1, 2) OVERLAPS (3, 4);
