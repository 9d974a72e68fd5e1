"""A node's process reduced to its keeper: each line it reads makes it pin a table; what becomes of it is printed."""

import asyncio
import os
import sys

import django

from tests.leases.rows import USERS


async def main(dsn: str, redis_url: str) -> None:
    from leases.asyncio.keeper import FATAL_EXIT_CODE, LeaseKeeper
    from leases.rules import LeaseError

    def stop(reason: str) -> None:
        print(f"fatal: {reason}", flush=True)
        os._exit(FATAL_EXIT_CODE)

    keeper = LeaseKeeper(node="n1", incarnation=1, dsn=dsn, redis_url=redis_url, lease_s=1.0, on_fatal=stop)
    async with keeper:
        print(f"pinned version {(await keeper.pin(USERS)).version}", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            try:
                print(f"pinned version {(await keeper.pin(USERS)).version}", flush=True)
            except LeaseError as error:
                print(f"refused: {error}", flush=True)


django.setup()
asyncio.run(main(*sys.argv[1:]))
