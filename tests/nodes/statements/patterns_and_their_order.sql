SELECT 'a' ~<~ 'b', 'a' ~<=~ 'a', 'a' ~>~ 'b', 'a' ~>=~ 'b', 'é' ~>~ 'z', 'a'::char(3) ~<~ 'b'::char(3), 'a'::varchar ~<=~ 'a'::text, NULL ~<~ 'a';
SELECT name FROM people WHERE name ~>=~ 'A' AND name ~<~ 'B' ORDER BY id;
SELECT 1 ~<~ 2;
SELECT 'abc'::bytea LIKE 'a%'::bytea, '\x00ff61'::bytea LIKE '%a'::bytea, '\x61ff62'::bytea LIKE '\x615f62'::bytea, 'abc'::bytea NOT LIKE 'b%', 'a%c'::bytea LIKE 'a\\%c', NULL::bytea LIKE 'a', 'é'::bytea LIKE '__', 'é'::bytea LIKE '_';
SELECT data LIKE '\x00'::bytea, data NOT LIKE '%', data ~~ k FROM files;
SELECT 'abc'::bytea LIKE 'abc\\';
SELECT 'abc'::bytea ILIKE 'a%'::bytea;
