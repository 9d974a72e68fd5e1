"""The memory of the engine's allocator: as much as was set aside for all queries together, and no more.

The engine's own limit does not see what an expression has on its way, of 2,048 rows at a time: the elements of their
arrays above all. And nothing can interrupt the one call that makes them. So the threads that run queries take from an
arena (of jemalloc, which the engine brings along) that has all its addresses beforehand and gets no more:

    reserve    ALLOTTED_BYTES of addresses, which are no memory until somebody writes there
    close      what the arena asks for more addresses has none
    enter      each thread of queries, once: all it allocates in the engine comes from there

What finds too little there is refused at once, in the middle of whatever it does, and the query ends (53200).
"""

import ctypes
import functools
import logging
import threading
from typing import Any

log = logging.getLogger(__name__)

ALLOTTED_BYTES = 2**29
STEP_BYTES = 2**26
"""The arena grows to the next multiple of so many bytes, or an eighth of its size, that is more than it needs."""
ALLOTTED = f"{ALLOTTED_BYTES // 2**20}MB"
_PREFIX = "duckdb_je_"
_HOOKS = 9
"""Functions of an arena, the first of which finds addresses."""
_ARENA_SHIFT, _NO_CACHE = 20, 1 << 8


class Arena:
    """An arena that has all the addresses it will ever have."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._control = library[f"{_PREFIX}mallctl"]
        self._control.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 3, ctypes.c_size_t]
        self.number = self._read("arenas.create", ctypes.c_uint)
        self._of_thread = threading.local()
        self._reserve(library)
        self._close()

    def enter(self) -> None:
        """Have this thread take what it allocates in the engine from here."""
        self._write("thread.arena", ctypes.c_uint(self.number))
        addresses = [self._read(f"thread.{what}p", ctypes.c_void_p) for what in ("allocated", "deallocated")]
        self._of_thread.counters = [ctypes.c_uint64.from_address(address) for address in addresses]

    def own_bytes(self) -> int:
        """Count the bytes that this thread has allocated since it began, less those that it has freed."""
        allocated, freed = self._of_thread.counters
        return int(allocated.value) - int(freed.value)

    def release(self) -> None:
        """Release what nobody uses to the machine; its addresses are one piece again, for whatever comes next."""
        name = f"arena.{self.number}.purge"
        self._check(name, self._control(name.encode(), None, None, None, 0))

    def used_bytes(self) -> int:
        """Count the bytes that are allocated here now, which takes a tenth of a millisecond."""
        self._write("epoch", ctypes.c_uint64(1))
        return sum(self._read(f"stats.arenas.{self.number}.{kind}.allocated") for kind in ("small", "large"))

    def _reserve(self, library: ctypes.CDLL) -> None:
        allocate, free = library[f"{_PREFIX}mallocx"], library[f"{_PREFIX}dallocx"]
        allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_int]
        free.restype, free.argtypes = None, [ctypes.c_void_p, ctypes.c_int]
        flags = (self.number + 1) << _ARENA_SHIFT | _NO_CACHE
        whole = allocate(ALLOTTED_BYTES - STEP_BYTES, flags)
        if whole is None:
            raise MemoryError(f"no {ALLOTTED} of addresses for the query engine")
        free(whole, flags)
        self.release()

    def _close(self) -> None:
        """Take the arena's way to more addresses.

        No function of Python's may be called there: it would wait for the interpreter, which may wait for the arena.
        """
        nowhere = ctypes.CDLL(None).pthread_getconcurrency  # takes nothing, changes nothing, answers 0
        assert nowhere() == 0
        hooks, name = ctypes.c_void_p * _HOOKS, f"arena.{self.number}.extent_hooks"
        given = hooks.from_address(self._read(name, ctypes.c_void_p))
        self._hooks = hooks(ctypes.cast(nowhere, ctypes.c_void_p).value, *given[1:])
        self._write(name, ctypes.c_void_p(ctypes.addressof(self._hooks)))

    def _read(self, name: str, of: Any = ctypes.c_size_t) -> Any:
        found, size = of(), ctypes.c_size_t(ctypes.sizeof(of))
        self._check(name, self._control(name.encode(), ctypes.byref(found), ctypes.byref(size), None, 0))
        return found.value

    def _write(self, name: str, value: Any) -> None:
        self._check(name, self._control(name.encode(), None, None, ctypes.byref(value), ctypes.sizeof(value)))

    def _check(self, name: str, code: int) -> None:
        if code:
            raise OSError(code, f"the query engine's allocator refused {name}")


@functools.cache
def allotted() -> Arena | None:
    """The arena of this process, if there is one, or else the engine is bounded by its own limit only.

    There is none (None) where the engine has another allocator, or its own refuses one, or too few addresses are left.
    """
    import _duckdb

    library = ctypes.CDLL(_duckdb.__file__)
    if not hasattr(library, f"{_PREFIX}mallctl"):
        log.warning("the query engine has no allocator of its own here: its memory is bounded by its own limit only")
        return None
    try:
        return Arena(library)
    except (MemoryError, OSError, AttributeError) as error:
        log.warning("the query engine's memory is bounded by its own limit only: %s", error)
        return None
