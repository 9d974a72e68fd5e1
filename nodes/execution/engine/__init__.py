"""The query engine inside a node, and what it is given.

duckdb_engine       the engine: queries over rows, bounded in memory and time
shared_memory       what all queries have of it together, and what is refused for want of it
refusals            what it refuses, as PostgreSQL would
engine_functions    what it calls here, of
numeric_functions     numerics
document_functions    json and jsonb
catalog_feeds       relations of the catalog, as a transaction sees them
catalog_batches     made beside the event loop, and kept
"""
