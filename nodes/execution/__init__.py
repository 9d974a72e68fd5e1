"""Plans, executed over the store.

in_place        SELECT, answered by PostgreSQL
describing      its parameters and columns, by the store
judging         statements that write, judged by the store
portions        its rows in portions, by a cursor of the store
point_read      SELECT of one row by its key, compiled
ways            the ways to the rows of a table
writing/        INSERT, UPDATE, DELETE, COPY FROM, TRUNCATE
scans           reading rows by key, by index, or page by page
pages           pages of pairs, bounded by their bytes
row_codec       rows between bytes and values
held_rows       how many bytes a statement, a connection and a node may hold
fairness        long work beside the event loop's duties
"""
