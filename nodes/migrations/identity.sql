-- The next number of each identity column; nodes take blocks of them.
CREATE TABLE nodes_identity (
    table_id int NOT NULL,
    column_id int NOT NULL,
    next_number bigint NOT NULL,
    PRIMARY KEY (table_id, column_id)
);
CREATE FUNCTION nodes_take_identity(p_table int, p_column int, p_count int) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    INSERT INTO nodes_identity AS known (table_id, column_id, next_number) VALUES (p_table, p_column, 1 + p_count)
    ON CONFLICT (table_id, column_id) DO UPDATE SET next_number = known.next_number + p_count
    RETURNING next_number - p_count
$$;
