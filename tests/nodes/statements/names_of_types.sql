-- A name with a modifier is of the type without it.
SELECT 'timestamp(3)'::regtype, to_regtype('timestamp(3)'), to_regtype('timestamp(3) with time zone'), to_regtype('timestamptz(0)'), to_regtype('time(2) without time zone'), to_regtype('time (2)');
SELECT to_regtype('varchar(10)'), to_regtype('character varying(10)'), to_regtype('char(3)'), to_regtype('character(3)'), to_regtype('bpchar(4)'), to_regtype('numeric(5,2)'), to_regtype('decimal(5)'), to_regtype('numeric( 5 , -2 )'), to_regtype('dec(3)');
SELECT to_regtype('bpchar'), to_regtype('char'), to_regtype('"char"'), to_regtype('decimal'), to_regtype('dec');
SELECT to_regtype('varchar(10)[]'), to_regtype('numeric(5,2)[]'), to_regtype('timestamp(3)[]'), to_regtype('int[3]'), to_regtype('int4[][]'), to_regtype('int array'), to_regtype('timestamp(3) with time zone[]'), to_regtype('text [ ]');
SELECT to_regtype(' INT '), to_regtype('pg_catalog.int4'), to_regtype('pg_catalog.varchar(3)'), to_regtype('double   precision'), to_regtype('float(3)'), to_regtype('float(24)'), to_regtype('float(25)'), to_regtype('float(53)'), to_regtype('float'), to_regtype('real');
SELECT to_regtype('interval'), to_regtype('interval(3)'), to_regtype('interval year'), to_regtype('interval day to second'), to_regtype('Interval Day To Second (3)');
SELECT x::regtype, to_regtype(x), x::regtype::oid FROM (VALUES ('Timestamp (0)'), ('varchar(1)'), ('numeric(1000,1000)'), ('CHARACTER VARYING( 7 )[]'), (NULL), ('bigint')) AS v (x) ORDER BY x;
SELECT to_regtype('nope(3)'), to_regtype('nope'), to_regtype('nope[]'), to_regtype('"Nope(3)"');
SELECT x::regtype FROM (VALUES ('nope(3)')) AS v (x);
SELECT x::regtype FROM (VALUES ('text [nope]')) AS v (x) WHERE false;
SELECT pg_typeof(1::numeric(5,2)) = 'numeric(7,3)'::regtype, 'timestamp(3)'::regtype = 'timestamp'::regtype, 'varchar(3)'::regtype::text;
-- What a modifier is written as.
SELECT format_type(1114, 3), format_type(1114, 0), format_type(1114, -1), format_type(1114, NULL), format_type(1184, 3), format_type(1083, 2), format_type(1083, NULL);
SELECT format_type(1115, 3), format_type(1115, -1), format_type(1115, NULL), format_type(1185, 0), format_type(1183, 6);
SELECT format_type(1043, 14), format_type(1043, 4), format_type(1043, 0), format_type(1043, -1), format_type(1043, NULL), format_type(1015, 14), format_type(1015, -1), format_type(1015, NULL);
SELECT format_type(1042, 14), format_type(1042, NULL), format_type(1042, -1), format_type(1042, 3), format_type(1042, 0);
SELECT format_type(1700, 327686), format_type(1700, 3), format_type(1700, 4), format_type(1700, -1), format_type(1700, NULL), format_type(1231, 327686), format_type(1231, -1), format_type(1231, NULL);
SELECT format_type(23, 5), format_type(16, 1), format_type(1007, 3), format_type(1009, NULL), format_type(1186, NULL), format_type(1186, -1), format_type(1187, -1);
SELECT format_type('timestamp(3)'::regtype, 3), format_type(to_regtype('varchar(3)[]'), 7), format_type(to_regtype('nope'), 3), format_type(0, 3), format_type(99999999, 3);
SELECT x, format_type(1114, x), format_type(1043, x), format_type(1700, x), format_type(1042, x) FROM (VALUES (-1), (0), (3), (6), (7), (262148), (NULL)) AS v (x) ORDER BY x;
