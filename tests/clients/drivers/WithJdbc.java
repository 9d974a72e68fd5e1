// pgjdbc, as a JVM in Europe/Berlin has it.

import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TimeZone;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.util.PGInterval;

public class WithJdbc {
    interface Step { void run() throws Exception; }

    static String url;
    static Connection connection;

    static String quoted(String text) {
        return '"' + String.valueOf(text).replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
    }

    static void tried(String what, Step step) {
        String only = System.getenv("STEP");
        if (only != null && !what.contains(only)) return;
        try {
            step.run();
            System.out.printf("{\"tried\": %s, \"outcome\": \"works\"}%n", quoted(what));
        } catch (Throwable error) {
            String state = error instanceof SQLException sql ? sql.getSQLState() : "";
            String message = error.getMessage() == null ? error.toString() : error.getMessage();
            String[] parts = message.split("\n  Hint: ");
            System.out.printf("{\"tried\": %s, \"outcome\": \"fails\", \"sqlstate\": %s, \"message\": %s, \"hint\": %s}%n",
                quoted(what), quoted(state == null ? "" : state), quoted(parts[0]), quoted(parts.length > 1 ? parts[1] : ""));
        }
    }

    static void check(Object found, Object expected) {
        if (!expected.equals(found)) throw new AssertionError(found + ", not " + expected);
    }

    static void run(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) { statement.execute(sql); }
    }

    static long count(String where) throws SQLException {
        try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery("SELECT count(*) FROM jdbc WHERE " + where)) {
            r.next();
            return r.getLong(1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
        url = String.format("jdbc:postgresql://%s:%s/%s?user=%s", System.getenv("PGHOST"), System.getenv("PGPORT"),
            System.getenv("PGDATABASE"), System.getenv("PGUSER"));
        connection = DriverManager.getConnection(url);
        System.out.printf("{\"client\": \"pgjdbc\", \"version\": %s}%n", quoted(connection.getMetaData().getDriverVersion()));
        tried("a table, rows with parameters, values of every kind, in Europe/Berlin", () -> {
            run("DROP TABLE IF EXISTS jdbc");
            run("CREATE TABLE jdbc (id serial PRIMARY KEY, n bigint, w text, f float8, b boolean, t timestamptz, u uuid)");
            String sql = "INSERT INTO jdbc (n, w, f, b, t, u) VALUES (?, ?, ?, ?, ?, ?)";
            Timestamp moment = Timestamp.valueOf("2026-07-01 12:30:00");
            try (PreparedStatement p = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
                p.setLong(1, 1L << 40); p.setString(2, "wörd"); p.setDouble(3, 0.1); p.setBoolean(4, true);
                p.setTimestamp(5, moment); p.setObject(6, new UUID(0, 5));
                p.executeUpdate();
                ResultSet keys = p.getGeneratedKeys();
                keys.next();
                check(keys.getInt(1), 1);
            }
            try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery("SELECT * FROM jdbc")) {
                r.next();
                check(r.getLong("n"), 1L << 40);
                check(r.getTimestamp("t"), moment);
                check(r.getObject("t", OffsetDateTime.class).toInstant(), moment.toInstant());
                check(r.getObject("u"), new UUID(0, 5));
                check(r.getString("t"), "2026-07-01 12:30:00+02");
            }
        });
        tried("a prepared statement ten times: prepared by the server from the fifth on, in binary", () -> {
            try (PreparedStatement p = connection.prepareStatement("SELECT n, f, t FROM jdbc WHERE id = ?")) {
                for (int i = 0; i < 10; i++) {
                    p.setInt(1, 1);
                    ResultSet r = p.executeQuery();
                    r.next();
                    check(r.getLong(1), 1L << 40);
                    check(r.getTimestamp(3), Timestamp.valueOf("2026-07-01 12:30:00"));
                }
            }
        });
        tried("arrays: = ANY(?)", () -> {
            try (PreparedStatement p = connection.prepareStatement("SELECT id FROM jdbc WHERE id = ANY(?)")) {
                p.setArray(1, connection.createArrayOf("int4", new Integer[] {1, 2}));
                ResultSet r = p.executeQuery();
                r.next();
                check(r.getInt(1), 1);
            }
        });
        tried("array columns: setArray, getArray in text and binary, getObject, unnest(?)", () -> {
            run("DROP TABLE IF EXISTS jdbc_lists");
            run("CREATE TABLE jdbc_lists (id int PRIMARY KEY, n int[], w text[], f float8[], m numeric(8,2)[], d date[])");
            try (PreparedStatement p = connection.prepareStatement("INSERT INTO jdbc_lists VALUES (?, ?, ?, ?, ?, ?)")) {
                p.setInt(1, 1);
                p.setArray(2, connection.createArrayOf("int4", new Integer[] {1, null, 3}));
                p.setArray(3, connection.createArrayOf("text", new String[] {"a", "b\"c", "d,e"}));
                p.setObject(4, new double[] {0.5, -2.5});
                p.setArray(5, connection.createArrayOf("numeric", new BigDecimal[] {new BigDecimal("1.50")}));
                p.setArray(6, connection.createArrayOf("date", new Date[] {Date.valueOf("2024-02-29")}));
                p.executeUpdate();
            }
            try (PreparedStatement p = connection.prepareStatement("SELECT n, w, f, m, d FROM jdbc_lists WHERE id = ?")) {
                for (int i = 0; i < 10; i++) { // from the fifth on in binary
                    p.setInt(1, 1);
                    ResultSet r = p.executeQuery();
                    r.next();
                    check(Arrays.toString((Object[]) r.getArray(1).getArray()), "[1, null, 3]");
                    check(Arrays.toString((Object[]) r.getArray(2).getArray()), "[a, b\"c, d,e]");
                    check(Arrays.toString((Object[]) r.getArray(3).getArray()), "[0.5, -2.5]");
                    check(Arrays.toString((Object[]) r.getArray(4).getArray()), "[1.50]");
                    check(Arrays.toString((Object[]) r.getArray(5).getArray()), "[2024-02-29]");
                }
            }
            String many = "INSERT INTO jdbc_lists (id, w) SELECT a, ARRAY[b] FROM unnest(?::int[], ?::text[]) AS x (a, b)";
            try (PreparedStatement p = connection.prepareStatement(many)) {
                p.setArray(1, connection.createArrayOf("int4", new Integer[] {10, 11}));
                p.setArray(2, connection.createArrayOf("text", new String[] {"p", null}));
                check(p.executeUpdate(), 2);
            }
        });
        tried("numeric, interval, bytea, time, jsonb", () -> {
            run("CREATE TEMP TABLE jdbc_more (id int PRIMARY KEY, m numeric(12,3), i interval, b bytea, t time, j jsonb)");
            try (PreparedStatement p = connection.prepareStatement("INSERT INTO jdbc_more VALUES (1, ?, ?, ?, ?, ?::jsonb)")) {
                p.setBigDecimal(1, new BigDecimal("1.250"));
                p.setObject(2, new PGInterval("1 day 02:00:00"));
                p.setBytes(3, new byte[] {0, -1});
                p.setObject(4, LocalTime.of(4, 5));
                p.setString(5, "{\"a\": [1]}");
                p.executeUpdate();
            }
            try (PreparedStatement p = connection.prepareStatement("SELECT m, i, b, t, j FROM jdbc_more WHERE id = ?")) {
                for (int i = 0; i < 10; i++) {
                    p.setInt(1, 1);
                    ResultSet r = p.executeQuery();
                    r.next();
                    check(r.getBigDecimal(1), new BigDecimal("1.250"));
                    check(((PGInterval) r.getObject(2)).getDays(), 1);
                    check(Arrays.toString(r.getBytes(3)), "[0, -1]");
                    check(r.getObject(4, LocalTime.class), LocalTime.of(4, 5));
                    check(r.getString(5), "{\"a\": [1]}");
                }
            }
        });
        tried("batches, also rewritten into one statement", () -> {
            try (Connection c = DriverManager.getConnection(url + "&reWriteBatchedInserts=true");
                    PreparedStatement p = c.prepareStatement("INSERT INTO jdbc (n, w) VALUES (?, ?)")) {
                for (int i = 0; i < 200; i++) { p.setLong(1, i); p.setString(2, "b"); p.addBatch(); }
                p.executeBatch();
            }
            check(count("w = 'b'"), 200L);
        });
        tried("transactions and savepoints", () -> {
            connection.setAutoCommit(false);
            run("INSERT INTO jdbc (n) VALUES (1000)");
            Savepoint savepoint = connection.setSavepoint();
            run("INSERT INTO jdbc (n) VALUES (1001)");
            connection.rollback(savepoint);
            connection.commit();
            connection.setAutoCommit(true);
            check(count("n = 1000 OR n = 1001"), 1L);
        });
        tried("rows read in parts (setFetchSize)", () -> {
            connection.setAutoCommit(false);
            try (Statement s = connection.createStatement()) {
                s.setFetchSize(10);
                ResultSet r = s.executeQuery("SELECT id FROM jdbc");
                int seen = 0;
                while (r.next()) seen++;
                check(seen > 200, true);
            }
            connection.commit();
            connection.setAutoCommit(true);
        });
        tried("COPY in and out (CopyManager)", () -> {
            var copy = connection.unwrap(PGConnection.class).getCopyAPI();
            check(copy.copyIn("COPY jdbc (n, w) FROM STDIN WITH CSV", new StringReader("5000,a\n5001,b\n")), 2L);
            StringWriter out = new StringWriter();
            copy.copyOut("COPY (SELECT n, w FROM jdbc WHERE n >= 5000 AND n < 6000 ORDER BY n) TO STDOUT", out);
            check(out.toString(), "5000\ta\n5001\tb\n");
        });
        tried("DatabaseMetaData: tables, columns, keys, indexes, types", () -> {
            DatabaseMetaData about = connection.getMetaData();
            List<String> names = new ArrayList<>();
            ResultSet columns = about.getColumns(null, "public", "jdbc", "%");
            while (columns.next()) names.add(columns.getString("COLUMN_NAME") + " " + columns.getString("TYPE_NAME"));
            check(names.toString(), "[id int4, n int8, w text, f float8, b bool, t timestamptz, u uuid]");
            ResultSet keys = about.getPrimaryKeys(null, "public", "jdbc");
            keys.next();
            check(keys.getString("COLUMN_NAME"), "id");
            ResultSet indexes = about.getIndexInfo(null, "public", "jdbc", true, false);
            indexes.next();
            check(indexes.getString("INDEX_NAME"), "jdbc_pkey");
            about.getTables(null, "public", "%", new String[] {"TABLE"}).next();
            about.getTypeInfo().next();
            about.getImportedKeys(null, "public", "jdbc");
            about.getSchemas().next();
            ResultSet functions = about.getFunctions(null, "pg_catalog", "now");
            functions.next();
            check(functions.getString("FUNCTION_NAME"), "now");
            about.getProcedures(null, null, "%");
            check(about.getFunctionColumns(null, "pg_catalog", "upper", "%").next(), true);
            columns = about.getColumns(null, "public", "jdbc_lists", "%");
            names.clear();
            while (columns.next()) names.add(columns.getString("TYPE_NAME") + " " + columns.getInt("DATA_TYPE"));
            check(names.toString(), "[int4 4, _int4 2003, _text 2003, _float8 2003, _numeric 2003, _date 2003]");
            about.getUDTs(null, null, "%", null);
            about.getTablePrivileges(null, "public", "jdbc");
            about.getBestRowIdentifier(null, "public", "jdbc", DatabaseMetaData.bestRowSession, false).next();
        });
        tried("errors: a key that is there", () -> {
            try {
                run("INSERT INTO jdbc (id) VALUES (1)");
            } catch (SQLException error) {
                check(error.getSQLState(), "23505");
                return;
            }
            throw new AssertionError("no error");
        });
        tried("a prepared statement, across a new column: prepared again by the driver", () -> {
            try (Connection other = DriverManager.getConnection(url + "&autosave=conservative");
                    PreparedStatement p = other.prepareStatement("SELECT * FROM jdbc WHERE id = 1")) {
                int before = 0;
                for (int i = 0; i < 7; i++) before = p.executeQuery().getMetaData().getColumnCount();
                run("ALTER TABLE jdbc ADD COLUMN extra int DEFAULT 7");
                int after = 0;
                try {
                    after = p.executeQuery().getMetaData().getColumnCount();
                } catch (SQLException error) { // outside of a transaction the next try prepares it again
                    check(error.getMessage().contains("cached plan must not change result type"), true);
                    after = p.executeQuery().getMetaData().getColumnCount();
                }
                check(after, before + 1);
            }
        });
        tried(AcrossChanges.TITLE, () -> new AcrossChanges("jdbc_prepared", "").run());
        tried(AcrossChanges.TITLE + ": from the first execution on, in binary", () -> new AcrossChanges("jdbc_binary", "prepareThreshold=-1").run());
        tried(AcrossChanges.TITLE + ": parsed each time", () -> new AcrossChanges("jdbc_unnamed", "prepareThreshold=0").run());
    }
}
