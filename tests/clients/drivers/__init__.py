"""Scripts that try each client, run by its own interpreter: nothing here imports the project.

trial            a step, its outcome as a line of JSON
across_changes   prepared statements while their table changes, and what is right then; also in JavaScript and Java
with_psycopg2    psycopg 2
with_psycopg3    psycopg 3 and its pool
with_asyncpg     asyncpg and its pool
with_pg8000      pg8000
with_sqlalchemy  SQLAlchemy's Core and ORM, and Alembic
with_django      Django's migrations and ORM
with_frames      pandas, polars, connectorx, ADBC
with_duckdb      DuckDB's scanner of PostgreSQL
"""
