-- UPDATE .. FROM, DELETE .. USING, and WITH before statements that write.
UPDATE people SET age = o.number FROM orders o WHERE o.customer = people.id AND o.number < 4;
SELECT id, age FROM people ORDER BY id;
UPDATE people p SET age = o.total, name = p.name || o.customer
 FROM (SELECT customer, sum(number)::int AS total FROM orders GROUP BY customer) o WHERE o.customer = p.id
 RETURNING p.id, p.name, age, o.*, total * 2 AS twice;
UPDATE people SET score = v.s, born = v.day FROM (VALUES (1, 2.5, DATE '2024-01-01'), (5, NULL, NULL), (99, 1, NULL))
 AS v(id, s, day) WHERE v.id = people.id RETURNING *;
-- a row that matches several times is changed once
UPDATE people SET age = 7 FROM orders WHERE customer = id RETURNING id, age;
UPDATE people SET age = age + 1 FROM generate_series(1, 5) g;
UPDATE people SET age = 1 FROM orders WHERE false;
SELECT id, age FROM people ORDER BY id;
-- with itself
UPDATE people a SET age = b.id * 100 FROM people b WHERE b.id = a.id + 1 RETURNING a.id, a.age, b.id, b.age;
UPDATE people SET age = 1 FROM people WHERE true;
UPDATE people SET age = 1 FROM people q WHERE people.id = q.id AND q.id > 4;
-- names
UPDATE people SET people.age = 1 FROM orders;
UPDATE people SET age = nothing.x FROM orders;
UPDATE people SET age = 1 FROM orders WHERE id = nothing;
UPDATE people SET age = 1 FROM orders o, measures o WHERE true;
UPDATE people SET age = 1 FROM orders RETURNING x.*;
UPDATE people SET age = id FROM measures WHERE measures.id = 1;
UPDATE people SET age = 'x' FROM orders WHERE customer = id;
UPDATE people SET name = NULL FROM orders WHERE customer = people.id;
UPDATE people SET age = 1, age = 2 FROM orders;
-- joins inside FROM, and what the table may not be seen by
UPDATE people p SET age = o.number FROM orders o JOIN (VALUES (1), (2)) v(c) ON v.c = o.customer
 WHERE o.customer = p.id AND o.number = (SELECT max(number) FROM orders WHERE customer = p.id) RETURNING p.id, age, c;
UPDATE people p SET age = o.number FROM orders o LEFT JOIN measures m ON m.id = o.number AND m.width > p.id WHERE true;
UPDATE people p SET age = l.n FROM orders o CROSS JOIN LATERAL (SELECT o.number * 2 AS n) l
 WHERE o.customer = p.id AND o.number IN (1, 2, 3) RETURNING p.id, p.age;
-- types
UPDATE people p SET big = p.big + o.number, seen = born::timestamp, ok = o.price > 1
 FROM orders o WHERE o.customer = p.id AND o.number BETWEEN 5 AND 7 RETURNING p.id, p.big, p.seen, p.ok, o.price;
INSERT INTO prices VALUES (1, 1.10, 5), (2, 2.20, 6.00), (3, 0, 7.5);
UPDATE prices SET p = prices.p + s.s FROM (VALUES (1, 0.005), (2, 1)) s(id, s) WHERE s.id = prices.id RETURNING prices.*, s.s;
UPDATE prices SET q = x.q + 10 FROM prices x WHERE x.id = 4 - prices.id RETURNING prices.id, prices.q;
UPDATE prices SET p = -1 FROM orders WHERE orders.number = prices.id;
UPDATE prices SET q = 1 FROM orders WHERE orders.number = prices.id;
UPDATE prices SET id = prices.id + o.number FROM orders o WHERE o.number = 10 RETURNING prices.id, o.number;
SELECT * FROM prices ORDER BY id;
INSERT INTO labels VALUES ('a', 'x', 'one'), ('b', 'y ', NULL), ('long', 'z', 'three');
UPDATE labels SET code = o.item FROM orders o WHERE o.number = 1;
UPDATE labels l SET code = m.code, note = l.note || m.id FROM labels m WHERE m.code > l.code RETURNING l.id, l.code;
SELECT id, code FROM labels ORDER BY id;
INSERT INTO numbered (name) VALUES ('a'), ('b');
UPDATE numbered SET id = 9 FROM orders;
UPDATE numbered SET name = o.item FROM orders o WHERE o.item = 'item ' || length(name) RETURNING name;
-- RETURNING asks, too: what was there before
UPDATE people SET age = 5 WHERE id = 1 RETURNING id, age, (SELECT count(*) FROM people x WHERE x.age = 5);
DELETE FROM orders WHERE number = 3 RETURNING item, (SELECT count(*) FROM orders), number + 1;
UPDATE people SET age = 6 WHERE id = 2 RETURNING (SELECT count(*) FROM orders o WHERE o.customer = people.id);
UPDATE people SET age = 1 RETURNING count(*);
UPDATE people SET age = count(*);
-- SET of several columns
UPDATE people SET (age, name) = (SELECT number, item FROM orders WHERE customer = people.id ORDER BY number LIMIT 1)
 WHERE id IN (1, 2, 4) AND name IS NOT NULL AND EXISTS (SELECT 1 FROM orders WHERE customer = people.id) RETURNING id, age, name;
UPDATE people SET (age, score) = (SELECT number, price FROM orders WHERE customer = 1) WHERE id = 1;
UPDATE people SET (age, score) = (SELECT number, price FROM orders WHERE false) WHERE id = 5 RETURNING age, score;
UPDATE people SET (age, score) = (SELECT 1) WHERE id = 1;
UPDATE people SET (age, score) = (1, 2, 3) WHERE id = 1;
UPDATE people SET (age, score) = (DEFAULT, 2) WHERE id = 1 RETURNING age, score;
UPDATE people p SET (age, score) = (o.number, o.price) FROM orders o WHERE o.customer = p.id AND o.number = 2 RETURNING p.id, p.age, p.score;
-- DELETE .. USING
DELETE FROM orders USING people WHERE people.id = orders.customer AND people.id = 1 AND number > 12;
DELETE FROM orders o USING people p, measures m WHERE p.id = o.customer;
DELETE FROM orders o USING people p WHERE p.id = o.customer AND number < 6 RETURNING o.*, p.id, p.name || o.item AS both;
DELETE FROM orders a USING orders b WHERE b.number = a.number + 1 AND a.number > 15 RETURNING a.number, b.number;
DELETE FROM orders USING orders WHERE true;
DELETE FROM orders o USING generate_series(1, 3) g(n) WHERE o.number % 7 = g.n RETURNING *;
DELETE FROM orders o USING people p WHERE nothing = 1;
SELECT * FROM orders ORDER BY customer, number;
-- WITH
WITH few AS (SELECT id FROM people WHERE id < 3) UPDATE people SET age = 50 WHERE id IN (SELECT id FROM few) RETURNING id, age;
WITH few AS (SELECT id, id * 2 AS n FROM people WHERE id < 3) UPDATE people p SET age = n FROM few WHERE few.id = p.id RETURNING p.id, age, few.*;
WITH few AS (SELECT 1 AS n) UPDATE people SET age = (SELECT n FROM few) WHERE id = 4 RETURNING age;
WITH few AS (SELECT 1 AS n) DELETE FROM orders WHERE customer = (SELECT n FROM few);
WITH few AS (SELECT 2 AS n), more AS (SELECT n + 1 AS n FROM few) DELETE FROM orders o USING more WHERE o.customer = more.n RETURNING o.number, more.n;
WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 4) UPDATE people SET big = n FROM up WHERE up.n = id RETURNING id, big;
WITH few AS (SELECT 500 AS id, 'x' AS name) INSERT INTO people (id, name) SELECT * FROM few RETURNING id, name;
WITH few AS (SELECT 501 AS id) INSERT INTO people (id, name) VALUES ((SELECT id FROM few), 'y'), (502, DEFAULT);
WITH few AS (SELECT 501 AS id) INSERT INTO people (id, name, age) VALUES ((SELECT id FROM few), 'y', DEFAULT) RETURNING id, name, (SELECT id + 1 FROM few);
WITH few AS (SELECT 503 AS id) INSERT INTO people (id, name) WITH id AS (SELECT 'z' AS name) SELECT few.id, id.name FROM few, id RETURNING id;
WITH few AS (SELECT 9 AS n) INSERT INTO people (id, name) VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET age = (SELECT n FROM few) + excluded.id RETURNING id, age;
WITH few AS (SELECT 1 AS people) UPDATE people SET age = 3 WHERE id IN (SELECT people FROM few) RETURNING age;
WITH orders AS (SELECT 4 AS customer) DELETE FROM people USING orders WHERE customer = id RETURNING id;
WITH few AS (SELECT 1), few AS (SELECT 2) DELETE FROM people;
-- subqueries of INSERT
INSERT INTO people (id, name) VALUES ((SELECT max(id) + 1 FROM people), 'next') RETURNING id;
INSERT INTO people (id, name, age) VALUES (600, 'n', (SELECT count(*) FROM orders)), (601, 'm', DEFAULT) RETURNING id, age;
INSERT INTO people (id, name) VALUES (602, 'r') RETURNING id, (SELECT count(*) FROM people WHERE id > 500), (SELECT name FROM people p WHERE p.id = people.id - 1);
INSERT INTO people (id, name) VALUES (602, 'r') ON CONFLICT (id) DO UPDATE SET age = (SELECT max(id) FROM people p WHERE p.id < excluded.id), name = people.name || '!' RETURNING age, name;
INSERT INTO people (id, name) VALUES (603, count(*));
INSERT INTO people (id, name) VALUES ((SELECT id FROM people), 'several');
SELECT id, name, age FROM people ORDER BY id;
-- tables without a key
BEGIN;
CREATE TABLE loose (a int, b text);
INSERT INTO loose VALUES (1, 'x'), (1, 'x'), (2, 'y'), (NULL, NULL);
UPDATE loose SET b = v.b FROM (VALUES (1, 'one'), (3, 'three')) v(a, b) WHERE v.a = loose.a;
DELETE FROM loose l USING loose m WHERE m.a = l.a + 1 RETURNING l.*, m.b;
WITH w AS (SELECT 2 AS a) UPDATE loose SET a = a + 1 WHERE a IN (SELECT a FROM w) RETURNING *;
SELECT * FROM loose ORDER BY a;
ROLLBACK;
DELETE FROM people USING measures JOIN (VALUES (1)) v(id) USING (id) WHERE id = 1;
UPDATE people SET age = 1 FROM measures JOIN (VALUES (1)) v(id) USING (id) RETURNING id;
-- subqueries without a name, and columns of any name
UPDATE people SET age = 3 FROM (SELECT 3 AS z) WHERE id = 1 RETURNING z, age + z;
UPDATE people p SET age = z FROM ((SELECT 4 AS z) JOIN (VALUES (1)) ON true) WHERE id = column1 RETURNING *;
UPDATE people SET age = 5 FROM (SELECT 1 AS U&"\0002", 2 AS b) u, (SELECT 7 AS c) v WHERE id = 1 RETURNING u.*, v.*, age;
DELETE FROM people USING (SELECT 0 AS zero) WHERE id = zero RETURNING zero;
MERGE INTO people USING (SELECT 1 AS k) ON id = k WHEN MATCHED THEN UPDATE SET age = k RETURNING k, age;
MERGE INTO people USING (SELECT 700 AS k) ON id = k WHEN NOT MATCHED THEN INSERT (id, name) VALUES (k, 'k') RETURNING *;
UPDATE people SET (name, age) = (SELECT 'u', 1 UNION SELECT 'u', 1) WHERE id = 1 RETURNING name, age;
UPDATE people SET (name, age) = (VALUES ('v', 2)) WHERE id = 1 RETURNING name, age;
UPDATE people SET (name, age) = (SELECT 'a' UNION SELECT 'b') WHERE id = 1;
INSERT INTO people (id, name, age) VALUES (710, upper('a'), 1 + 1), (711, upper('b'), 2 + 2), (712, U&'d!0061' UESCAPE '!', DEFAULT) RETURNING id, name, age;
INSERT INTO people (id, name, age) VALUES (1, 'w', 1), (2, 'w', 2) ON CONFLICT (id) DO UPDATE SET (name, age) = (upper(excluded.name), 8) WHERE excluded.age > 1 RETURNING id, name, age;
INSERT INTO people (id, name, age) VALUES (1, 'w', 1), (2, 'w', 2) ON CONFLICT (id) DO UPDATE SET (name, age) = (SELECT excluded.name || 'x', 9) WHERE people.id < 2 RETURNING id, name, age + 1;
UPDATE labels SET note = 'n' FROM (VALUES ('x'::char(3))) v (c) WHERE id = (SELECT min(id) FROM labels) RETURNING CASE WHEN true THEN code END, ('y'::char(5)), coalesce(v.c, code), v.c, code || '!', length(code);
INSERT INTO people (id, name, age) VALUES (1, 'x', 1), (1, 'y', 2), (1, 'z', 1) ON CONFLICT (id) DO UPDATE SET age = excluded.age + 40 WHERE excluded.age > 1 RETURNING id, name;
INSERT INTO people (id, name, age) VALUES (1, 'x', 1), (1, 'y', 2), (1, 'z', 1) ON CONFLICT (id) DO UPDATE SET age = excluded.age + 50 WHERE excluded.age < 2;
INSERT INTO people (id, name, age) VALUES (1, 'x', 1), (1, 'y', 1) ON CONFLICT (id) DO UPDATE SET age = 60 WHERE false;
INSERT INTO people (id, name) VALUES (713, upper('a')), (714, upper(5));
INSERT INTO people (id, age) VALUES (715, '3'::int + 1), (716, 'x'::int + 1);
UPDATE people SET age = j.id + 60 FROM (people a JOIN measures b USING (id) AS j) WHERE j.id = people.id RETURNING j.id, people.age, j.*, a.id;
UPDATE people SET age = id + 61 FROM (people a JOIN measures b USING (id) AS j) WHERE j.id = people.id RETURNING id;
UPDATE people p SET age = 62 FROM (people a NATURAL JOIN (SELECT 1 AS id) b) AS j WHERE j.id = p.id RETURNING j.id, p.age;
