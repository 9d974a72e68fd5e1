-- pgAdmin 4: at connection, then its tree and its table properties
SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output';
SELECT set_config('bytea_output','hex',false) FROM pg_settings WHERE name = 'bytea_output';
SELECT
    db.datname = current_database() as is_it, db.datallowconn, pg_catalog.pg_encoding_to_char(db.encoding) AS serverencoding,
    has_database_privilege(db.oid, 'CREATE') IS NOT NULL as cancreate, datistemplate
FROM pg_catalog.pg_database db WHERE db.datname = current_database();
SELECT roles.oid IS NOT NULL as id, roles.rolname = current_user as name,
    roles.rolsuper IS NOT NULL as is_superuser,
    CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreaterole END IS NOT NULL as can_create_role,
    CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreatedb END IS NOT NULL as can_create_db,
    CASE WHEN 'pg_signal_backend'=ANY(ARRAY(WITH RECURSIVE cte AS (
    SELECT pg_roles.oid,pg_roles.rolname FROM pg_roles WHERE pg_roles.oid = roles.oid
    UNION ALL
    SELECT m.roleid,pgr.rolname FROM cte cte_1 JOIN pg_auth_members m ON m.member = cte_1.oid
    JOIN pg_roles pgr ON pgr.oid = m.roleid) SELECT rolname FROM cte)) THEN True ELSE False END as can_signal_backend
FROM pg_catalog.pg_roles as roles
WHERE rolname = current_user;
SELECT gss_authenticated, encrypted FROM pg_catalog.pg_stat_gssapi WHERE pid = pg_backend_pid();
SELECT CASE WHEN usesuper THEN pg_catalog.pg_is_in_recovery() ELSE FALSE END as inrecovery, CASE WHEN usesuper AND false THEN pg_is_wal_replay_paused() ELSE FALSE END as isreplaypaused FROM pg_catalog.pg_user WHERE usename=current_user;
SELECT pg_is_in_recovery();
SELECT nsp.nspname as name, has_schema_privilege(nsp.oid, 'CREATE') IS NOT NULL as can_create, has_schema_privilege(nsp.oid, 'USAGE') as has_usage, nsp.nspname LIKE E'pg\\_%'
FROM pg_catalog.pg_namespace nsp
WHERE nspname <> 'schemalab' AND nspname NOT LIKE E'pg\\_%' AND nsp.nspname <> 'information_schema' AND NOT ((nsp.nspname = 'pg_catalog' AND EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'pg_class' AND relnamespace = nsp.oid LIMIT 1)) OR (nsp.nspname = 'pgagent' AND EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'pga_job' AND relnamespace = nsp.oid LIMIT 1)) OR (nsp.nspname = 'information_schema' AND EXISTS (SELECT 1 FROM pg_catalog.pg_class WHERE relname = 'tables' AND relnamespace = nsp.oid LIMIT 1)))
ORDER BY nspname;
SELECT rel.relname AS name, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid=rel.oid AND tgisinternal = FALSE) AS triggercount, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid=rel.oid AND tgisinternal = FALSE AND tgenabled = 'O') AS has_enable_triggers, (CASE WHEN rel.relkind = 'p' THEN true ELSE false END) AS is_partitioned, (SELECT count(1) FROM pg_catalog.pg_inherits WHERE inhrelid=rel.oid LIMIT 1) as is_inherits, (SELECT count(1) FROM pg_catalog.pg_inherits WHERE inhparent=rel.oid LIMIT 1) as is_inherited, des.description AS comment
FROM pg_catalog.pg_class rel
LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid=rel.oid AND des.objsubid=0 AND des.classoid='pg_class'::regclass)
WHERE rel.relkind IN ('r','s','t','p') AND rel.relnamespace = 'public'::regnamespace AND NOT rel.relispartition ORDER BY rel.relname;
SELECT DISTINCT att.attname as name, att.attnum as OID, pg_catalog.format_type(ty.oid,NULL) AS datatype, pg_catalog.format_type(ty.oid,att.atttypmod) AS displaytypname, att.attnotnull as not_null,
CASE WHEN att.atthasdef OR att.attidentity != '' OR ty.typdefault IS NOT NULL THEN True ELSE False END as has_default_val, des.description, seq.seqtypid
FROM pg_catalog.pg_attribute att
JOIN pg_catalog.pg_type ty ON ty.oid=atttypid
JOIN pg_catalog.pg_namespace tn ON tn.oid=ty.typnamespace
JOIN pg_catalog.pg_class cl ON cl.oid=att.attrelid
JOIN pg_catalog.pg_namespace na ON na.oid=cl.relnamespace
LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=ty.typelem
LEFT OUTER JOIN pg_catalog.pg_attrdef def ON adrelid=att.attrelid AND adnum=att.attnum
LEFT OUTER JOIN (pg_catalog.pg_depend JOIN pg_catalog.pg_class cs ON classid='pg_class'::regclass AND objid=cs.oid AND cs.relkind='S') ON refobjid=att.attrelid AND refobjsubid=att.attnum
LEFT OUTER JOIN pg_catalog.pg_namespace ns ON ns.oid=cs.relnamespace
LEFT OUTER JOIN pg_catalog.pg_index pi ON pi.indrelid=att.attrelid AND indisprimary
LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid=att.attrelid AND des.objsubid=att.attnum AND des.classoid='pg_class'::regclass)
LEFT OUTER JOIN pg_catalog.pg_sequence seq ON cs.oid=seq.seqrelid
WHERE att.attrelid = 'trips'::regclass AND att.attnum > 0 AND att.attisdropped IS FALSE
ORDER BY att.attnum;
SELECT rel.relname AS name, rel.relhasindex, rel.relhassubclass, rel.relpersistence, spc.spcname AS spcname, pg_catalog.pg_get_userbyid(rel.relowner) AS relowner, rel.relreplident,
  rel.relacl, (SELECT nspname FROM pg_namespace n WHERE n.oid = rel.relnamespace) AS schema, (CASE WHEN length(spc.spcname::text) > 0 THEN spc.spcname ELSE (SELECT sp.spcname FROM pg_catalog.pg_database dtb JOIN pg_catalog.pg_tablespace sp ON dtb.dattablespace=sp.oid WHERE dtb.datname = current_database()) END) as spcname2,
  (SELECT array_to_string(conkey, ',') FROM pg_constraint c WHERE c.conrelid = rel.oid AND contype = 'p') AS conkey,
  pg_catalog.array_to_string(rel.reloptions, ',') AS reloptions, substring(pg_catalog.array_to_string(rel.reloptions, ',') FROM 'fillfactor=([0-9]*)') AS fillfactor,
  (substring(pg_catalog.array_to_string(rel.reloptions, ',') FROM 'autovacuum_enabled=([a-z|0-9]*)'))::BOOL AS autovacuum_enabled,
  typ.typname, (CASE WHEN rel.reltoastrelid = 0 THEN false ELSE true END) IS NOT NULL AS hastoasttable,
  ARRAY[]::varchar[] AS seclabels, (CASE WHEN rel.oid <= 16383 THEN true ElSE false END) AS is_sys_table
FROM pg_catalog.pg_class rel
  LEFT OUTER JOIN pg_catalog.pg_tablespace spc on spc.oid=rel.reltablespace
  LEFT OUTER JOIN pg_catalog.pg_constraint con ON con.conrelid=rel.oid AND con.contype='p'
  LEFT OUTER JOIN pg_catalog.pg_class tst ON tst.oid = rel.reltoastrelid
  LEFT JOIN pg_catalog.pg_type typ ON rel.reloftype=typ.oid
WHERE rel.relkind IN ('r','s','t','p') AND rel.relname = 'trips';
SELECT cls.relname as name, indrelid::regclass, indkey, indisclustered, indisvalid, indisunique, indisprimary, n.nspname, indnatts, cls.reltablespace AS spcoid, des.description, pg_catalog.pg_get_expr(indpred, indrelid, true) as indconstraint, contype, condeferrable, condeferred, amname, (SELECT (CASE WHEN count(i.inhrelid) > 0 THEN true ELSE false END) FROM pg_inherits i WHERE i.inhrelid = cls.oid) as is_inherited, substring(pg_catalog.array_to_string(cls.reloptions, ',') from 'fillfactor=([0-9]*)') AS fillfactor
FROM pg_catalog.pg_index idx
JOIN pg_catalog.pg_class cls ON cls.oid=indexrelid
JOIN pg_catalog.pg_class tab ON tab.oid=indrelid
LEFT OUTER JOIN pg_catalog.pg_tablespace ta on ta.oid=cls.reltablespace
JOIN pg_catalog.pg_namespace n ON n.oid=tab.relnamespace
JOIN pg_catalog.pg_am am ON am.oid=cls.relam
LEFT JOIN pg_catalog.pg_depend dep ON (dep.classid = cls.tableoid AND dep.objid = cls.oid AND dep.refobjsubid = '0' AND dep.refclassid=(SELECT oid FROM pg_catalog.pg_class WHERE relname='pg_constraint') AND dep.deptype='i')
LEFT OUTER JOIN pg_catalog.pg_constraint con ON (con.tableoid = dep.refclassid AND con.oid = dep.refobjid)
LEFT OUTER JOIN pg_catalog.pg_description des ON des.objoid=cls.oid AND des.classoid = 'pg_class'::regclass
WHERE indrelid = 'trips'::regclass AND conname is NULL AND false
ORDER BY cls.relname;
SELECT ct.conname as name, NOT convalidated as convalidated, ct.condeferrable, confupdtype, confdeltype, CASE confmatchtype WHEN 's' THEN FALSE WHEN 'f' THEN TRUE END AS confmatchtype, conkey, confkey, conrelid::regclass, nl.nspname as fknsp, cl.relname as fktab, nr.nspname as refnsp, cr.relname as reftab, description as comment, convalidated, conislocal
FROM pg_catalog.pg_constraint ct
JOIN pg_catalog.pg_class cl ON cl.oid=conrelid
JOIN pg_catalog.pg_namespace nl ON nl.oid=cl.relnamespace
JOIN pg_catalog.pg_class cr ON cr.oid=confrelid
JOIN pg_catalog.pg_namespace nr ON nr.oid=cr.relnamespace
LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid=ct.oid AND des.classoid='pg_constraint'::regclass)
WHERE ct.contype='f' AND conrelid='trips'::regclass ORDER BY ct.conname;
SELECT rolname, pg_catalog.shobj_description(r.oid, 'pg_authid') AS description FROM pg_catalog.pg_roles r WHERE r.rolname = 'schemalab' ORDER BY r.rolcanlogin, r.rolname;
SELECT ts.oid AS oid, spcname AS name, spcowner IS NOT NULL as owner FROM pg_catalog.pg_tablespace ts ORDER BY name;
SELECT x.oid, x.extname AS name FROM pg_catalog.pg_extension x WHERE x.extname <> 'plpgsql' ORDER BY x.extname;
SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) >= 0 AS n;
SELECT pg_catalog.pg_stat_get_live_tuples('trips'::regclass) IS NULL OR true;
SELECT pg_relation_filenode('trips'::regclass) IS NULL OR true;
SELECT c.relname, has_table_privilege(c.oid, 'SELECT') FROM pg_class c WHERE c.relname = 'trips';
SELECT at.attname, at.attnum, ty.typname FROM pg_catalog.pg_attribute at LEFT JOIN pg_catalog.pg_type ty ON (ty.oid = at.atttypid) WHERE attrelid='trips'::regclass::oid AND attnum = ANY((SELECT con.conkey FROM pg_catalog.pg_class rel LEFT OUTER JOIN pg_catalog.pg_constraint con ON con.conrelid=rel.oid AND con.contype='p' WHERE rel.relkind IN ('r','s','t', 'p') AND rel.oid = 'trips'::regclass::oid)::oid[])
