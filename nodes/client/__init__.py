"""The Python client of `crud`: the operations of a node as methods, blocking or with asyncio.

    from nodes.client import Crud

    with Crud("host=127.0.0.1 port=7101 user=owner dbname=schemalab") as crud:
        crud.insert_object("customers", {"id": 1, "name": "Emma"}, timeout=2)
        for row in crud.pairs("customers", [[">=", "id", 1]]):
            print(row)

It needs psycopg 3 and nothing else of this tree, and can be installed by itself: `pip install ./nodes/client`.
(`nodes.clients` is something else: the connections that a node serves.)

crud     the operations, of `Crud` and of `AsyncCrud`
calls    one call: its SQL, its arguments, its options, and how its answer is read
answers  results, and `CrudError`
"""

from nodes.client.answers import BatchResult, CrudError, FailedRow, Metadata, Result
from nodes.client.crud import AsyncCrud, Crud

__all__ = ["AsyncCrud", "BatchResult", "Crud", "CrudError", "FailedRow", "Metadata", "Result"]
