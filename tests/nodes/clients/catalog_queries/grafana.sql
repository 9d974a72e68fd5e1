-- Grafana: its query editor and panels
SELECT version() LIKE 'PostgreSQL 18%';
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb';
SELECT
    CASE WHEN
          quote_ident(table_schema) IN (
          SELECT
          CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
          generate_series(
            array_lower(string_to_array(current_setting('search_path'),','),1),
            array_upper(string_to_array(current_setting('search_path'),','),1)
          ) as i,
          string_to_array(current_setting('search_path'),',') s
          )
      THEN quote_ident(table_name)
      ELSE quote_ident(table_schema) || '.' || quote_ident(table_name)
    END AS "table"
    FROM information_schema.tables
    WHERE quote_ident(table_schema) NOT IN ('information_schema',
                             'pg_catalog',
                             '_timescaledb_cache',
                             '_timescaledb_catalog',
                             '_timescaledb_internal',
                             '_timescaledb_config',
                             'timescaledb_information',
                             'timescaledb_experimental')
    ORDER BY CASE WHEN
          quote_ident(table_schema) IN (
          SELECT
          CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
          generate_series(
            array_lower(string_to_array(current_setting('search_path'),','),1),
            array_upper(string_to_array(current_setting('search_path'),','),1)
          ) as i,
          string_to_array(current_setting('search_path'),',') s
          ) THEN 0 ELSE 1 END, 1;
SELECT quote_ident(column_name) AS "column", data_type AS "type"
    FROM information_schema.columns
    WHERE
          CASE WHEN
          array_length(parse_ident('trips'),1) = 2
          THEN quote_ident(table_schema) = (parse_ident('trips'))[1]
            AND quote_ident(table_name) = (parse_ident('trips'))[2]
          ELSE quote_ident(table_name) = (parse_ident('trips'))[1]
            AND
            quote_ident(table_schema) IN (
          SELECT
          CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
          FROM
          generate_series(
            array_lower(string_to_array(current_setting('search_path'),','),1),
            array_upper(string_to_array(current_setting('search_path'),','),1)
          ) as i,
          string_to_array(current_setting('search_path'),',') s
          )
          END;
SELECT quote_ident(table_name) as table_name, quote_ident(column_name) as time_column FROM information_schema.columns WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog') AND data_type IN ('timestamp with time zone','timestamp without time zone') AND table_name = 'trips' ORDER BY 1, 2;
SELECT floor(extract(epoch from "at")/3600)*3600 AS "time", avg(far) AS "far" FROM trips WHERE "at" BETWEEN '2020-01-01T00:00:00Z' AND '2021-01-01T00:00:00Z' GROUP BY 1 ORDER BY 1;
SELECT extract(epoch from timestamptz '2024-01-01T00:00:00Z')::bigint*1000 AS t;
SELECT date_trunc('hour', "at") AS time, code AS metric, sum(far) FROM trips WHERE "at" >= '2020-01-01T00:00:00Z' AND at < '2020-01-02' GROUP BY time, metric ORDER BY 1,2;
SELECT to_timestamp(1700000000) AT TIME ZONE 'UTC' AS "time", 1.5::float8 AS value
