"""The people of the page, as a node knows them: their verifiers and what they may do. A sign-in asks the database each
time, so a new password counts at once; many at a time are one question. Sessions share a `Person`, looked at again
every `WATCH_S`. Without the database sign-ins are refused (57P03), sessions go on."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from expressions.errors import CANNOT_CONNECT_NOW, FatalError, SqlError
from nodes.people.rights import MAY_WRITE, Person
from nodes.store.pipeline import Command, StoreError
from nodes.wire.scram import Verifier, verifier_from, verifier_of_nobody

if TYPE_CHECKING:
    from psycopg import pq

log = logging.getLogger(__name__)

WATCH_S = 2.0
ANSWER_S_MAX = 5.0
APP, CODENAME = MAY_WRITE.split(".")
# As `User.has_perm(MAY_WRITE)` with Django's own backend: superusers, by a group, or given to the user.
FIND = f"""
SELECT u.username::text, u.is_active,
    u.is_superuser OR EXISTS (
        SELECT FROM auth_permission p JOIN django_content_type c ON c.id = p.content_type_id
        WHERE c.app_label = '{APP}' AND p.codename = '{CODENAME}' AND (
            EXISTS (SELECT FROM auth_user_user_permissions x WHERE x.user_id = u.id AND x.permission_id = p.id)
            OR EXISTS (SELECT FROM auth_group_permissions g JOIN auth_user_groups m ON m.group_id = g.group_id
                       WHERE m.user_id = u.id AND g.permission_id = p.id))),
    v.verifier::text
FROM auth_user u LEFT JOIN nodes_sqlpassword v ON v.user_id = u.id
WHERE u.username IN (SELECT jsonb_array_elements_text(%b::jsonb))
"""

Ask = Callable[[Command], Awaitable["pq.abc.PGresult"]]
Answer = dict[str, Person] | Exception


class People:
    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._persons: WeakValueDictionary[str, Person] = WeakValueDictionary()
        self._wanted: dict[str, asyncio.Future[Answer]] = {}
        self._asking: asyncio.Task[None] | None = None

    async def look_up(self, name: str) -> Person:
        """The person of this name as the database has it now. Raises 57P03 when it does not answer."""
        waiting = self._wanted.setdefault(name, asyncio.get_running_loop().create_future())
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_for_all())
        done, _ = await asyncio.wait([waiting], timeout=ANSWER_S_MAX)
        answer = waiting.result() if done else TimeoutError(f"no answer in {ANSWER_S_MAX:g} s")
        if isinstance(answer, Exception):
            raise FatalError(
                CANNOT_CONNECT_NOW,
                f'the store does not answer, so "{name}" cannot be signed in now: {answer}',
                hint="try again in some seconds",
            ) from answer
        person = self._persons.get(name)
        if person is None:
            person = self._persons[name] = Person(name)
        person.update(answer.get(name))
        return person

    async def _ask_for_all(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                answer: Answer = await self._find(wanted)
            except (SqlError, StoreError) as error:
                answer = error
            except Exception as error:  # nobody may wait for an answer that does not come
                log.exception("people cannot be looked up")
                answer = error
            for waiting in wanted.values():
                waiting.set_result(answer)

    async def watch(self, on_closed: Callable[[Person, FatalError], None]) -> None:
        """Keep everybody with a session up to date; `on_closed` gets whose account was closed."""
        while True:
            await asyncio.sleep(WATCH_S)
            persons = list(self._persons.values())
            try:
                found = await self._find([person.name for person in persons]) if persons else {}
            except (SqlError, StoreError) as error:
                log.debug("people are looked at again later: %s", error)
                continue
            for person in persons:
                person.update(found.get(person.name))
                why = person.why_not_served()
                if why is not None:
                    on_closed(person, why)

    async def _find(self, names: Iterable[str]) -> dict[str, Person]:
        result = await self._ask(Command(FIND, (json.dumps(list(names)).encode(),), is_text=True))
        persons: dict[str, Person] = {}
        for row in range(result.ntuples):
            known_as, is_active, may_write, verifier = (result.get_value(row, column) for column in range(4))
            name = (known_as or b"").decode()
            persons[name] = Person(name, True, is_active == b"\x01", may_write == b"\x01", _verifier(name, verifier))
        return persons


def _verifier(name: str, text: bytes | None) -> Verifier | None:
    try:
        return None if text is None else verifier_from(text.decode())
    except ValueError:
        log.warning("the SQL password of %r is stored in a form that is not understood: none will fit", name)
        return verifier_of_nobody("", name)
