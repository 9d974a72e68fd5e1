"""`get` by the primary key, compiled and kept with the version: the read that the same query in SQL would be
(`nodes.execution.point_read`). A traced request, a bucket, or a mistake in a value is left to
`nodes.crud.operations`."""

from collections.abc import Hashable, Sequence
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column
from expressions.errors import SqlError
from nodes.crud.answers import AnswerColumns
from nodes.crud.requests import Request
from nodes.crud.values import key_texts, named_key
from nodes.execution.point_read import PointRead
from nodes.router.compiled import is_short
from nodes.sql.plans import Plan, SelectPlan
from nodes.store.transaction import Transaction
from nodes.wire.parameters import SLOWLY_READ, values_of
from storage.pairs import KEY_BYTES_MAX

FORMATS: tuple[int, ...] = ()
"""Values come as texts, of which the answer is made."""


def _kind(request: Request) -> Hashable:
    fields = request.call.options.get("fields")
    return "get", fields if fields is None else tuple(fields), request.caller.style


def known(request: Request, descriptor: Descriptor) -> "KeyedGet | None":
    """The compiled read of a request under this version, if it was performed before."""
    return request.env.router.compiled.get(descriptor, _kind(request))  # type: ignore[no-any-return]


def learn(request: Request, descriptor: Descriptor, plan: Plan, oids: Sequence[int]) -> None:
    """Notes that a request was performed by this plan; only of one row whose storage its key says."""
    fields = request.call.options.get("fields") or ()
    if not isinstance(plan, SelectPlan) or not SLOWLY_READ.isdisjoint(oids) or not is_short(fields):
        return
    read = PointRead.of(request.env, plan)
    if read is not None:
        made = KeyedGet(read, named_key(descriptor), oids, request.shown(descriptor))
        request.env.router.compiled.keep(descriptor, _kind(request), made)


class KeyedGet:
    __slots__ = ("_key", "_oids", "_read", "_shown")

    def __init__(self, read: PointRead, key: Sequence[Column], oids: Sequence[int], shown: AnswerColumns) -> None:
        self._read, self._key, self._oids, self._shown = read, key, oids, shown

    async def answer(self, request: Request, transaction: Transaction, given: Any) -> str | None:
        """The answer, with which the transaction has ended; None when it is not to be had this way."""
        read, style = self._read, request.caller.style
        try:
            texts = key_texts(read.table.descriptor, self._key, given)
            if sum(len(text) for text in texts if text) > KEY_BYTES_MAX:
                return None
            values = [None if text is None else text.encode() for text in texts]
            parts = read.key_of(values_of(self._oids, values, FORMATS, style, transaction.started_at))
        except SqlError:
            return None
        if parts is None:
            return None
        storage, command = read.question(b"".join(parts))
        (result,) = await transaction.run([command], commit=True, only=storage)
        return self._shown.result(read.answer(parts, result, FORMATS))
