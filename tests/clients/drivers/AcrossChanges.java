// Prepared statements while their table goes through schema_changes.tsv: as across_changes.py, which says what is right.

import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

class AcrossChanges {
    static final String TITLE = "prepared statements across schema changes";
    static final int WORKERS = 3, KEYS = 1000, SUCCESSES = 15, SECONDS_MAX = 240;
    static final Map<String, String> STATEMENTS = Map.of(
        "put", "INSERT INTO {t} (id, n) VALUES (?, ?) RETURNING *",
        "put both", "INSERT INTO {t} (id, n, w) VALUES (?, ?, ?)",
        "add", "UPDATE {t} SET n = n + ? WHERE id = ? RETURNING *",
        "write", "UPDATE {t} SET w = ? WHERE id = ? RETURNING id, w",
        "get", "SELECT * FROM {t} WHERE id = ?",
        "range", "SELECT id, n FROM {t} WHERE id >= ? AND id < ? ORDER BY id",
        "sum", "SELECT count(*) AS c, sum(n) AS s FROM {t} WHERE id >= ? AND id < ?",
        "take", "DELETE FROM {t} WHERE id = ? RETURNING *",
        "drop", "DELETE FROM {t} WHERE id = ?");
    static final List<String> OF_NEW = List.of("put", "put both", "get", "range", "add");
    static final List<String> NAMES = List.copyOf(STATEMENTS.keySet());

    record Column(String name, String type) {}
    record Row(long n, String w) {}
    /** Columns, rows (numbers as they are, of the class of their type) and rows affected. */
    record Answer(List<Column> columns, List<List<Object>> rows, long count) {}

    final String table, options;
    final List<List<Column>> shapes = new ArrayList<>();
    final List<String> changes = new ArrayList<>();
    final String[] ports;
    volatile int begun = 0, done = 0;
    volatile boolean isOver = false;

    AcrossChanges(String table, String options) throws Exception {
        this.table = table;
        this.options = options;
        String more = System.getenv("PGPORTS");
        ports = (more == null ? System.getenv("PGPORT") : more).split(",");
        for (String line : Files.readAllLines(Path.of(System.getenv("SCHEMA_CHANGES")))) {
            String[] parts = line.split("\t");
            List<Column> shape = new ArrayList<>();
            for (String column : parts[0].split(" ")) shape.add(new Column(column.split(":")[0], column.split(":")[1]));
            shapes.add(shape);
            changes.add(parts[1].replace("{t}", table));
        }
    }

    Connection connected(String port) throws SQLException {
        return DriverManager.getConnection(String.format("jdbc:postgresql://%s:%s/%s?user=%s&%s", System.getenv("PGHOST"),
            port, System.getenv("PGDATABASE"), System.getenv("PGUSER"), options));
    }

    static Object number(long value, String type) {
        return switch (type) {
            case "int4" -> (int) value;
            case "int8" -> value;
            default -> BigDecimal.valueOf(value);
        };
    }

    class Worker extends Thread {
        final int low;
        final Connection connection;
        final Map<String, PreparedStatement> prepared = new HashMap<>();
        final Map<String, Integer> preparedAt = new HashMap<>(), counts = new TreeMap<>();
        final TreeMap<Integer, Row> rows = new TreeMap<>();
        final Random random;
        /** The number of changes that were done when a statement was last asked that succeeded. */
        final Map<String, Integer> succeededAt = new ConcurrentHashMap<>();
        volatile int succeeded = 0;
        volatile Throwable wrong;

        Worker(int number) throws SQLException {
            low = number * KEYS;
            random = new Random(low);
            connection = connected(ports[number % ports.length]);
            setDaemon(true);
        }

        @Override public void run() {
            try {
                while (!isOver) step();
            } catch (Throwable error) {
                wrong = error;
            }
        }

        void step() throws SQLException {
            int key = low + random.nextInt(40), n = random.nextInt(1000), first = done;
            String w = "w" + random.nextInt(1000);
            List<String> names = rows.containsKey(key) ? NAMES : OF_NEW;
            String drawn = names.get(random.nextInt(names.size()));
            String name = rows.containsKey(key) && drawn.startsWith("put") ? "add" : drawn;
            Object[] values = switch (name) {
                case "put" -> new Object[] {key, n};
                case "put both" -> new Object[] {key, n, w};
                case "add" -> new Object[] {n, key};
                case "write" -> new Object[] {w, key};
                case "range", "sum" -> new Object[] {low, low + KEYS};
                default -> new Object[] {key};
            };
            Answer found;
            try {
                found = ask(name, STATEMENTS.get(name).replace("{t}", table), values);
            } catch (SQLException error) {
                judgeError(name, error, first);
                return;
            }
            counts.merge(name, 1, Integer::sum);
            succeeded++;
            succeededAt.put(name, first);
            preparedAt.putIfAbsent(name, first);
            Row before = rows.get(key);
            write(name, key, n, w);
            List<Answer> expected = new ArrayList<>();
            for (List<Column> shape : shapes.subList(first, begun + 1)) expected.add(expected(name, key, before, shape));
            if (!expected.contains(found)) throw new AssertionError(name + " of " + key + " was answered " + found + ", not one of " + expected);
        }

        Answer ask(String name, String sql, Object[] values) throws SQLException {
            PreparedStatement statement = prepared.get(name);
            if (statement == null) prepared.put(name, statement = connection.prepareStatement(sql));
            for (int i = 0; i < values.length; i++) {
                if (values[i] instanceof Integer number) statement.setInt(i + 1, number);
                else statement.setString(i + 1, (String) values[i]);
            }
            if (!statement.execute()) return new Answer(List.of(), List.of(), statement.getUpdateCount());
            try (ResultSet result = statement.getResultSet()) {
                ResultSetMetaData about = result.getMetaData();
                List<Column> columns = new ArrayList<>();
                for (int i = 1; i <= about.getColumnCount(); i++) columns.add(new Column(about.getColumnLabel(i), about.getColumnTypeName(i)));
                List<List<Object>> found = new ArrayList<>();
                while (result.next()) {
                    List<Object> row = new ArrayList<>();
                    for (int i = 1; i <= columns.size(); i++) row.add(result.getObject(i));
                    found.add(row);
                }
                return new Answer(columns, found, found.size());
            }
        }

        /** So many have succeeded, and of each statement one since the last change where that is asked for. */
        boolean hasDone(int until, boolean ofEach) {
            return succeeded >= until && (!ofEach || NAMES.stream().allMatch(name -> succeededAt.getOrDefault(name, -1) >= done));
        }

        void judgeError(String name, SQLException error, int first) throws SQLException {
            int last = begun;
            String state = error.getSQLState();
            counts.merge(state, 1, Integer::sum);
            boolean isChanged = state.equals("0A000") && error.getMessage().contains("cached") && preparedAt.getOrDefault(name, first) < last;
            boolean isNamed = shapes.subList(first, last + 1).stream().allMatch(shape -> shape.stream().anyMatch(c -> c.name().equals("w")));
            boolean isAbsent = state.equals("42703") && List.of("put both", "write").contains(name) && !isNamed;
            if (!isChanged && !isAbsent && !state.equals("40001")) throw error;
            if (isChanged) preparedAt.remove(name); // pgjdbc prepares it again when it is executed next
        }

        void write(String name, int key, int n, String w) {
            Row row = rows.get(key);
            switch (name) {
                case "put" -> rows.put(key, new Row(n, null));
                case "put both" -> rows.put(key, new Row(n, w));
                case "add" -> { if (row != null) rows.put(key, new Row(row.n() + n, row.w())); }
                case "write" -> rows.put(key, new Row(row.n(), w));
                case "take", "drop" -> rows.remove(key);
                default -> { }
            }
        }

        Answer expected(String name, int key, Row before, List<Column> shape) {
            Map<String, String> types = new HashMap<>();
            for (Column column : shape) types.put(column.name(), column.type());
            Row row = name.equals("take") ? before : rows.get(key);
            switch (name) {
                case "put both", "drop":
                    return new Answer(List.of(), List.of(), 1);
                case "write":
                    return new Answer(List.of(shape.get(0), new Column("w", String.valueOf(types.get("w")))), List.of(List.of(key, row.w())), 1);
                case "range":
                    List<List<Object>> all = new ArrayList<>();
                    rows.forEach((id, one) -> all.add(List.of(id, number(one.n(), types.get("n")))));
                    return new Answer(shape.subList(0, 2), all, all.size());
                case "sum":
                    String type = types.get("n").equals("int4") ? "int8" : "numeric";
                    List<Object> sums = new ArrayList<>(List.of((long) rows.size()));
                    sums.add(rows.isEmpty() ? null : number(rows.values().stream().mapToLong(Row::n).sum(), type));
                    return new Answer(List.of(new Column("c", "int8"), new Column("s", type)), List.of(sums), 1);
                default:
            }
            if (row == null) return new Answer(shape, List.of(), 0);
            List<Object> values = new ArrayList<>();
            for (Column column : shape) {
                values.add(switch (column.name()) {
                    case "id" -> key;
                    case "n" -> number(row.n(), column.type());
                    case "seven" -> 7;
                    default -> row.w();
                });
            }
            return new Answer(shape, List.of(values), 1);
        }
    }

    void change(String sql) throws SQLException {
        try (Connection other = connected(ports[ports.length - 1]); Statement statement = other.createStatement()) {
            statement.execute(sql);
        }
    }

    void run() throws Exception {
        change("DROP TABLE IF EXISTS " + table);
        change(changes.get(0));
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < WORKERS; i++) workers.add(new Worker(i));
        workers.forEach(Thread::start);
        try {
            for (int number = 1; number <= changes.size(); number++) {
                awaitSuccesses(workers, number == 2 || number == changes.size());
                if (number == changes.size()) break;
                begun = number;
                change(changes.get(number));
                done = number;
            }
        } finally {
            isOver = true;
            for (Worker worker : workers) worker.join(30_000);
        }
        for (Worker worker : workers) if (worker.wrong != null) throw new AssertionError(worker.wrong);
        for (Worker worker : workers) if (worker.isAlive()) throw new AssertionError("a statement has not ended: " + worker.counts);
        List<List<Object>> ledger = new ArrayList<>();
        for (Worker worker : workers) {
            worker.rows.forEach((id, row) -> {
                List<Object> values = new ArrayList<>(List.of(id, (int) row.n()));
                values.add(row.w());
                ledger.add(values);
            });
        }
        WithJdbc.check(workers.get(0).ask("all", "SELECT id, n, w FROM " + table + " WHERE id >= ? ORDER BY id", new Object[] {0}).rows(), ledger);
        for (Worker worker : workers) System.err.println(table + " " + worker.counts);
    }

    void awaitSuccesses(List<Worker> workers, boolean ofEach) throws InterruptedException {
        long until = System.nanoTime() + SECONDS_MAX * 1_000_000_000L;
        int[] before = workers.stream().mapToInt(worker -> worker.succeeded).toArray();
        for (int i = 0; i < WORKERS; i++) {
            while (!workers.get(i).hasDone(before[i] + SUCCESSES, ofEach)) {
                if (workers.get(i).wrong != null) throw new AssertionError(workers.get(i).wrong);
                if (System.nanoTime() > until) throw new AssertionError("not done after " + SECONDS_MAX + " s: " + workers.get(i).counts);
                Thread.sleep(10);
            }
        }
    }
}
