-- what pgcli's completer asks, of the schema public
SELECT nsp.nspname schema_name, cls.relname table_name, att.attname column_name,
    att.atttypid::regtype::text type_name, att.atthasdef AS has_default
FROM pg_catalog.pg_attribute att
    INNER JOIN pg_catalog.pg_class cls ON att.attrelid = cls.oid
    INNER JOIN pg_catalog.pg_namespace nsp ON cls.relnamespace = nsp.oid
    LEFT OUTER JOIN pg_attrdef def ON def.adrelid = att.attrelid AND def.adnum = att.attnum
WHERE cls.relkind = ANY('{v,m}') AND NOT att.attisdropped AND att.attnum > 0 AND nsp.nspname = 'public'
ORDER BY 1, 2, att.attnum;
SELECT n.nspname schema_name, p.proname func_name, p.proargnames,
    COALESCE(proallargtypes::regtype[], proargtypes::regtype[])::text[], p.proargmodes,
    prorettype::regtype::text return_type, p.prokind = 'a' is_aggregate, p.prokind = 'w' is_window,
    p.proretset is_set_returning, d.deptype = 'e' is_extension, pg_get_expr(proargdefaults, 0) AS arg_defaults
FROM pg_catalog.pg_proc p INNER JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
    LEFT JOIN pg_depend d ON d.objid = p.oid and d.deptype = 'e'
WHERE p.prorettype::regtype != 'trigger'::regtype AND n.nspname = 'public'
ORDER BY 1, 2;
WITH Words AS (
    SELECT regexp_split_to_table(prosrc, '\W+') AS Word, COUNT(1)
    FROM pg_catalog.pg_proc P
    JOIN pg_catalog.pg_namespace N ON N.oid = P.pronamespace
    JOIN pg_catalog.pg_language L ON L.oid = P.prolang
    WHERE L.lanname IN ('sql', 'plpgsql') AND N.nspname NOT IN ('pg_catalog', 'information_schema')
    GROUP BY Word
), OrderWords AS (
    SELECT Word, ROW_NUMBER() OVER(PARTITION BY LOWER(Word) ORDER BY Count DESC) FROM Words WHERE Word ~* '.*[a-z].*'
), Names AS (
    SELECT attname AS Name FROM pg_catalog.pg_attribute
    UNION SELECT relname FROM pg_catalog.pg_class
    UNION SELECT unnest(proargnames) FROM pg_proc
)
SELECT Word FROM OrderWords WHERE LOWER(Word) IN (SELECT Name FROM Names) AND Row_Number = 1;
-- arrays of types, as they are shown and as texts
SELECT ARRAY[23, 1184, NULL, 0, 99999999]::oid[]::regtype[], pg_typeof(ARRAY[23]::oid[]::regtype[]);
SELECT ARRAY[23, 1184, NULL, 0, 99999999]::oid[]::regtype[]::text[], ''::oidvector::regtype[]::text[];
SELECT unnest('23 25'::oidvector::regtype[]), NULL::regtype[], NULL::oid[]::regtype[]::text[];
SELECT oid, ARRAY[oid, typelem]::oid[]::regtype[]::text[] FROM pg_type WHERE typname IN ('int4', '_int4', 'varchar');
SELECT (ARRAY[23, 1184]::oid[]::regtype[])[2], 'int4'::regtype = ANY(ARRAY[23]::oid[]::regtype[]);
SELECT unnest(ARRAY[2211, 2279, 23]::oid[]::regtype[]);
SELECT 'trigger'::regtype, 'pg_catalog.void'::regtype::oid, 'regtype[]'::regtype::oid
