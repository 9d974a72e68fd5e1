"""A table as pairs: keys, values, what a statement does to them, and the seven clauses they keep.

encoding         values as bytes whose order is the values'
pairs            a table as pairs
buckets          on which storage a row lies
mutations        the effect of a statement, or a fill, on the pairs of a row (R2; for many rows: arrow/)
reads            the columns that an element reads
derived          columns that follow from another
answers          values of expressions that PostgreSQL computes, as they come with a row
asking           the questions for them, and the statement that answers those of many rows
answering        asks them by a session of psycopg
commit_outcomes  the proved outcome of a COMMIT whose session was lost (T7)
store            the interface, and a store in memory
postgres         the store in PostgreSQL; its function `enter` (T2, T3) is in the first migration
statements       SQL for pairs
sequences        numbers of identity columns
pair_views       the pairs that users' texts may read: a view for each version and storage
page_sizes       the number of pairs to read at once, by the bytes they are likely to have
integrity/       the rules that rows and pairs keep: constraints, foreign keys, the seven clauses
arrow/           the same rules over columns of Arrow
browser/         stored pairs for people: in lines, and row by row
sql_values/      stored values as PostgreSQL's own: decoders and encoders as SQL
reader/          the role under which PostgreSQL runs a user's text
shadow/          a database with empty tables that answers questions to the catalog
services         the reader role is brought to its allow list, and versions get the pair views they lack
selectors, views  the pair browser and the row page
"""
