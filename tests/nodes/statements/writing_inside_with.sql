-- INSERT, UPDATE and DELETE inside WITH: all parts see what was there before, and are done once.
BEGIN;
CREATE TABLE archive (customer int, number int, item text, price double precision, PRIMARY KEY (customer, number));
WITH gone AS (DELETE FROM orders WHERE number < 5 RETURNING *) INSERT INTO archive SELECT * FROM gone RETURNING number, item;
SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM archive);
WITH gone AS (DELETE FROM orders WHERE number = 7 RETURNING customer) SELECT count(*), min(gone.customer), (SELECT count(*) FROM orders) FROM gone;
-- a part that nobody reads
WITH gone AS (DELETE FROM orders WHERE number = 8) SELECT count(*) FROM orders;
SELECT count(*) FROM orders;
-- parents and children
WITH parent AS (INSERT INTO people (id, name) VALUES (700, 'p'), (701, 'q') RETURNING id, name)
 INSERT INTO archive SELECT id, 1, name, 0 FROM parent RETURNING customer, item;
WITH p(a) AS (INSERT INTO people (id, name, code, born, score, big) VALUES (702, 'r', md5('1')::uuid, '2024-02-03', 1.5, 9) RETURNING *)
 SELECT * FROM p;
WITH p AS (INSERT INTO numbered (name) VALUES ('a'), ('b') RETURNING id > 0 AS has, name) SELECT has, name FROM p ORDER BY name;
-- three parts, and queries between them
WITH few AS (SELECT 700 AS id UNION ALL SELECT 701), old AS (UPDATE people SET age = 5 WHERE id IN (SELECT id FROM few) RETURNING id, age),
 sums AS (SELECT sum(id) AS s, count(*) AS c FROM old), gone AS (DELETE FROM archive USING sums WHERE item = 'p' AND sums.c = 2 RETURNING archive.customer, sums.s)
 UPDATE orders SET item = 'x' || gone.s FROM gone WHERE number = 10 RETURNING orders.item;
WITH a AS (UPDATE people SET age = 77 WHERE id = 700 RETURNING age) SELECT a.age, people.age FROM a, people WHERE people.id = 700;
SELECT age FROM people WHERE id = 700;
WITH up AS (INSERT INTO people (id, name) VALUES (700, 'again') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING id, name) DELETE FROM archive USING up WHERE archive.customer = up.id + 1 RETURNING up.name;
WITH nothing AS (DELETE FROM people WHERE false RETURNING id) INSERT INTO archive SELECT id, 1, 'z', 0 FROM nothing;
-- types
WITH p AS (INSERT INTO prices VALUES (50, 1.10, 7.250) RETURNING *) SELECT p * 2 AS twice, q, q::text FROM p;
WITH l AS (INSERT INTO labels VALUES ('w', 'ab', NULL) RETURNING *) SELECT code, length(code), code || '!' AS s, note FROM l;
WITH h AS (INSERT INTO shifts VALUES (50, '10:30', '1 mon 2 days') RETURNING *) SELECT at, takes, takes * 2 AS twice, at + takes AS later FROM h;
WITH f AS (INSERT INTO files VALUES (50, '\x0102', '\x') RETURNING data, k) SELECT data || k AS both, length(data) FROM f;
WITH j AS (INSERT INTO papers VALUES (50, '{"a": 1}', '{"n": [1, 2]}') RETURNING *) SELECT j ->> 'a' AS a, b -> 'n' AS n FROM j;
WITH m AS (INSERT INTO measures VALUES (50, 3, 1.5) RETURNING *) SELECT id + width AS s, height FROM m;
WITH l AS (INSERT INTO lists VALUES (50, '{1,NULL}', '{"a b"}', '{1.5,2.50}', '{ab}', '{2020-02-29}', '{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,NULL}', ARRAY['{"a": 1}'::jsonb]), (51, NULL, '{}', NULL, NULL, NULL, '{}', NULL) RETURNING *) SELECT * FROM l ORDER BY id;
WITH l AS (UPDATE lists SET i[2:3] = '{7,8}' WHERE id = 50 RETURNING id, i, u, n, b) INSERT INTO more_lists (id, w, f) SELECT id + 10, i, i || n[1]::int FROM l WHERE u[2] IS NULL RETURNING id, w, f;
WITH l AS (UPDATE lists SET i = '{9}' WHERE id = 50 RETURNING i, i[1:] AS s, ARRAY[id] AS one, u) SELECT i || s AS both, one[1], u[1] = ANY (u) AS has, unnest(i) FROM l;
WITH m AS (INSERT INTO more_lists (id, b, h, p, f, z, q) VALUES (50, '{"\\x00ff"}', '{09:00}', '{"1 mon"}', '{NaN,1}', '{2020-01-01 00:00:00+02}', '{NaN,1.10}') RETURNING *) SELECT * FROM m;
WITH s AS (UPDATE people SET seen = '2024-01-02 03:04', at = '2024-01-02 03:04+00', ok = true WHERE id = 1 RETURNING seen, at, ok) SELECT seen::date AS d, extract(hour FROM at) AS h, ok FROM s;
ROLLBACK;
-- refused
WITH gone AS (DELETE FROM orders WHERE number = 9) SELECT * FROM gone;
WITH x AS (DELETE FROM orders RETURNING nothing) SELECT 1;
WITH x AS (DELETE FROM orders RETURNING 1), x AS (SELECT 1) SELECT 1;
SELECT * FROM (WITH x AS (DELETE FROM orders RETURNING 1) SELECT * FROM x) y;
WITH x AS (INSERT INTO people (id, name) VALUES (1, 'there') RETURNING id) DELETE FROM orders;
WITH x AS (INSERT INTO people (id) VALUES (801) RETURNING id) DELETE FROM orders;
SELECT count(*) FROM orders;
PREPARE moving(int) AS WITH gone AS (DELETE FROM orders WHERE number = $1 RETURNING *) SELECT number FROM gone;
EXECUTE moving(11);
EXECUTE moving(11);
BEGIN READ ONLY;
WITH gone AS (DELETE FROM orders RETURNING number) SELECT * FROM gone;
ROLLBACK;
SELECT count(*) FROM orders;
