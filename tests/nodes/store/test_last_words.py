"""What a lost session at the store is said to have ended for: its own end, and no error that it went on after."""

import asyncio
import os
import socket

import pytest

from nodes.store.pipeline import Command, StoreConnectionLost, StoreError, StorePool
from tests.nodes.conftest import Cluster


def test_an_error_before_is_no_reason_for_the_end(cluster: Cluster) -> None:
    async def lose() -> str:
        pool = StorePool(cluster.dsn, "schemalab test of last words", "")
        session = await pool.take()
        with pytest.raises(StoreError, match="division by zero"):
            await session.run([Command("SELECT 1 / 0")])
        await session.run([Command("ROLLBACK")])
        with socket.socket(fileno=os.dup(session._pgconn.socket)) as cut_off:
            cut_off.shutdown(socket.SHUT_RDWR)
        with pytest.raises(StoreConnectionLost) as lost:
            await session.run([Command("SELECT 1")])
        pool.put_back(session)
        await pool.close()
        return lost.value.message

    message = asyncio.run(lose())
    assert message
    assert "division by zero" not in message
