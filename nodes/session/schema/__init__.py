"""Statements that change the schema.

ddl                submitted as a change, followed to its end
new_tables         created inside a transaction, and changed there (T9); temporary ones
tables_of_queries  CREATE TABLE AS, SELECT INTO
view_statements    CREATE, DROP and ALTER VIEW
without_effect     accepted, and nothing changes: COMMENT, OWNER TO
"""
