"""The query engine inside a node, and what it is given.

duckdb_engine       the engine: queries over rows, bounded in memory and time
allotted_memory     what its allocator has for all queries
shared_memory       what all queries have of it together, and what is refused for want of it
query_threads       the threads that queries run in
thread_line         which of them run, and which wait: long ones leave room for short ones
stopping            ends what it calls here, of a query that is cancelled
refusals            what it refuses, as PostgreSQL would
engine_functions    what it calls here, of
numeric_functions     numerics
document_functions    json and jsonb
catalog_feeds       names of types and settings, which functions look up
"""
