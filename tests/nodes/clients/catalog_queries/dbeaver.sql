-- DBeaver: at connection, then its navigator
SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND d.objsubid=0 AND d.classoid='pg_namespace'::regclass
 WHERE n.nspname = 'nowhere' ORDER BY nspname;
SELECT n.nspname = ANY(current_schemas(true)), n.nspname FROM pg_catalog.pg_namespace n WHERE nspname = 'public' ORDER BY n.nspname;
SELECT t.oid,t.typname,t.typlen,t.typtype,t.typcategory,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description IS NULL AS no_words
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem 
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid=t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid
WHERE t.typname IN ('nothing') AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')
ORDER BY t.oid;
SELECT c.relname,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass
WHERE c.relnamespace='public'::regnamespace AND c.relkind not in ('i','I','c');
SELECT c.relname,a.attname,a.attnum,a.atttypmod,a.attnotnull,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid=ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid='trips'::regclass AND a.attnum > 0
ORDER BY a.attnum;
SELECT c.conname,c.contype,c.conkey,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, case when c.contype='c' then "substring"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid=c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass
WHERE t.oid='trips'::regclass
ORDER BY c.oid;
SELECT i.indisunique,i.indkey,i.indclass,i.indoption,c.relname,c.relnamespace::regnamespace,am.amname,tc.relname as tabrelname,dsc.description,pg_catalog.pg_get_expr(i.indpred,i.indrelid) as pred_expr,pg_catalog.pg_get_expr(i.indexprs,i.indrelid,true) as expr,pg_catalog.pg_relation_size(i.indexrelid) IS NULL OR true as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) IS NULL OR true as index_num_scans
FROM pg_catalog.pg_index i
INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid
INNER JOIN pg_catalog.pg_class tc ON tc.oid=i.indrelid
INNER JOIN pg_catalog.pg_am am ON am.oid=c.relam
LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid
WHERE i.indrelid='trips'::regclass ORDER BY tabrelname, c.relname;
SELECT x.oid,x.*,t.relname FROM pg_catalog.pg_trigger x LEFT OUTER JOIN pg_catalog.pg_class t ON t.oid=x.tgrelid WHERE x.tgisinternal=false AND t.relname = 'notes';
SELECT DISTINCT dep.deptype, dep.classid::regclass::text, cl.relkind, attr.attname,pg_get_expr(ad.adbin, ad.adrelid) adefval, CASE WHEN cl.relkind IS NOT NULL THEN cl.relkind::text || COALESCE(dep.objsubid::text, '') WHEN tg.oid IS NOT NULL THEN 'T'::text WHEN ty.oid IS NOT NULL THEN 'y'::text WHEN ns.oid IS NOT NULL THEN 'n'::text WHEN pr.oid IS NOT NULL THEN 'p'::text WHEN la.oid IS NOT NULL THEN 'l'::text WHEN rw.oid IS NOT NULL THEN 'R'::text WHEN co.oid IS NOT NULL THEN 'C'::text || contype::text WHEN ad.oid IS NOT NULL THEN 'A'::text ELSE '' END AS type, COALESCE(coc.relname, clrw.relname) AS ownertable, CASE WHEN cl.relname IS NOT NULL AND att.attname IS NOT NULL THEN cl.relname || '.' || att.attname ELSE COALESCE(cl.relname, co.conname, pr.proname, tg.tgname, ty.typname, la.lanname, rw.rulename, ns.nspname) END AS refname, COALESCE(nsc.nspname, nso.nspname, nsp.nspname, nst.nspname, nsrw.nspname) AS nspname FROM pg_depend dep LEFT JOIN pg_class cl ON dep.objid=cl.oid LEFT JOIN pg_attribute att ON dep.objid=att.attrelid AND dep.objsubid=att.attnum LEFT JOIN pg_namespace nsc ON cl.relnamespace=nsc.oid LEFT JOIN pg_proc pr ON dep.objid=pr.oid LEFT JOIN pg_namespace nsp ON pr.pronamespace=nsp.oid LEFT JOIN pg_trigger tg ON dep.objid=tg.oid LEFT JOIN pg_type ty ON dep.objid=ty.oid LEFT JOIN pg_namespace nst ON ty.typnamespace=nst.oid LEFT JOIN pg_constraint co ON dep.objid=co.oid LEFT JOIN pg_class coc ON co.conrelid=coc.oid LEFT JOIN pg_namespace nso ON co.connamespace=nso.oid LEFT JOIN pg_rewrite rw ON dep.objid=rw.oid LEFT JOIN pg_class clrw ON clrw.oid=rw.ev_class LEFT JOIN pg_namespace nsrw ON clrw.relnamespace=nsrw.oid LEFT JOIN pg_language la ON dep.objid=la.oid LEFT JOIN pg_namespace ns ON dep.objid=ns.oid LEFT JOIN pg_attrdef ad ON ad.oid=dep.objid LEFT JOIN pg_attribute attr ON attr.attrelid=ad.adrelid and attr.attnum=ad.adnum WHERE dep.refobjid='notes'::regclass AND dep.objid = 1 ORDER BY type;
SELECT a.rolname, a.rolcanlogin FROM pg_catalog.pg_roles a WHERE a.rolname = 'schemalab' ORDER BY a.rolname;
SELECT * FROM pg_catalog.pg_settings where name = 'nothing';
SELECT count(*) > 0 FROM pg_catalog.pg_settings where name = 'standard_conforming_strings';
SELECT * FROM pg_catalog.pg_event_trigger;
SELECT e.oid,e.* FROM pg_catalog.pg_extension e WHERE extname = 'x';
SELECT l.oid,l.lanname FROM pg_catalog.pg_language l WHERE l.lanname IN ('internal','c','sql') ORDER BY l.oid;
SELECT f.oid,f.*, 'x' FROM pg_catalog.pg_foreign_data_wrapper f;
SELECT c.oid,c.collname FROM pg_catalog.pg_collation c WHERE collname in ('C','default') ORDER BY c.oid;
SELECT relname, relkind FROM pg_catalog.pg_class c WHERE relkind = 'S' AND relnamespace = 'public'::regnamespace AND relname LIKE 'trips%';
SELECT * FROM pg_catalog.pg_sequences WHERE sequencename='trips_id_seq' AND last_value = -1;
SELECT sequencename, start_value, min_value, max_value, increment_by, cycle, cache_size, data_type FROM pg_catalog.pg_sequences WHERE schemaname='public' AND sequencename='trips_id_seq';
SELECT p.oid as poid,p.proname,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults FROM pg_catalog.pg_proc p WHERE p.pronamespace='public'::regnamespace ORDER BY p.proname;
SELECT version() IS NOT NULL;
SELECT tablename, quote_ident(schemaname) FROM pg_tables WHERE schemaname = 'public';
SELECT reltuples::bigint IS NOT NULL, relpages::int8 >= 0 FROM pg_class WHERE relname = 'trips';
SELECT t.oid as table_id, pg_catalog.pg_total_relation_size(t.oid) IS NULL OR true as total_rel_size, pg_catalog.pg_relation_size(t.oid) IS NULL OR true, t.relname FROM pg_catalog.pg_class t WHERE t.relnamespace='public'::regnamespace AND t.relkind='r';
SELECT * FROM pg_catalog.pg_enum;
SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace FROM pg_catalog.pg_index i JOIN pg_class c ON c.oid=i.indexrelid WHERE false;
SELECT c.oid::regclass::text, c.relacl, c.reloptions FROM pg_class c WHERE c.oid = 'trips'::regclass;
SELECT pg_catalog.pg_get_viewdef('far_trips'::regclass::oid, true) IS NOT NULL;
SELECT pg_stat_get_numscans(0::oid) IS NULL OR true;
SELECT cc.relname, cc.relkind, inh.inhseqno FROM pg_catalog.pg_inherits inh JOIN pg_class cc ON cc.oid = inh.inhrelid WHERE inh.inhparent = 'trips'::regclass;
SELECT relrowsecurity, relforcerowsecurity, relhasrules, relispartition FROM pg_class WHERE relname='trips';
SELECT rolname FROM pg_auth_members am JOIN pg_roles r ON r.oid = am.roleid WHERE am.member = 0;
SELECT oid, typname FROM pg_type WHERE typname = 'hstore';
SELECT pg_backend_pid() > 0;
SELECT 1 FROM pg_catalog.pg_attribute WHERE attrelid = 'pg_catalog.pg_class'::regclass AND attname = 'relrowsecurity';
SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE false;
SELECT sa.pid, sa.usename, sa.state, sa.query FROM pg_catalog.pg_stat_activity sa WHERE sa.pid = pg_backend_pid() AND false;
SELECT count(*) FROM pg_catalog.pg_locks WHERE false
