"""The rules that a model may leave out, each by the name that the command and links know it by."""

from collections.abc import Mapping
from enum import Enum


class Broken(Enum):
    SKIPPED = "skipped"
    EARLY = "early"
    BLIND = "blind"
    EXISTS_ONLY = "exists-only"
    NOT_CLEARED = "not-cleared"
    SEEN_ONLY = "seen-only"
    PURGED = "purged"
    TWICE = "twice"
    NO_CLOSE = "no-close"
    NO_PURGE = "no-purge"
    DELETE_EARLY = "delete-early"
    NO_DELETE = "no-delete"
    VISIBLE_MOVE = "visible-move"
    VALUES_FIRST = "values-first"
    INDEX_FIRST = "index-first"
    LATE_CANCEL = "early-turn"
    UNVERIFIED = "unverified"
    ONE_DRAINED = "one-drained"
    CHILD_UNCHECKED = "child-unchecked"
    PARENT_UNCHECKED = "parent-unchecked"
    SNAPSHOT = "snapshot"
    NO_LOCK = "no-lock"
    NO_CHECK = "no-check"
    IN_PLACE = "in-place"
    REMOVED_EARLY = "removed-early"
    TOMBSTONE_ROW = "tombstone-row"
    STALE_FENCE = "stale-fence"
    NEWER_VERSION = "newer-version"


WORDS: Mapping[Broken, str] = {
    Broken.SKIPPED: "the fill is left out",
    Broken.EARLY: "fill and verification begin while nodes still use the version before (R1, L9)",
    Broken.BLIND: "the fill puts what it read over whatever is there (R2)",
    Broken.EXISTS_ONLY: "the fill checks only that the row still exists (R2)",
    Broken.NOT_CLEARED: "tombstones from before the drain are not cleared (R6)",
    Broken.SEEN_ONLY: "a removal leaves a tombstone only where it sees a pair (R5)",
    Broken.PURGED: "tombstones are removed while the fill runs (R7)",
    Broken.TWICE: "a finished range is done again by a second attempt (R3)",
    Broken.NO_CLOSE: "the run is not closed: a worker believed dead may still write (R7)",
    Broken.NO_PURGE: "tombstones are never purged (R8)",
    Broken.DELETE_EARLY: "the pairs are deleted while nodes still use the version before (L9)",
    Broken.NO_DELETE: "the pairs are not deleted before the element is absent (X4)",
    Broken.VISIBLE_MOVE: "a change of key carries only the columns that the version can name",
    Broken.VALUES_FIRST: "a column's values are deleted before the entries made of them",
    Broken.INDEX_FIRST: "the fill of an index reads a missing value as NULL, not as the fill value",
    Broken.LATE_CANCEL: "a cancel is taken after an irreversible step (X6)",
    Broken.UNVERIFIED: "nothing is verified",
    Broken.ONE_DRAINED: "only the table that refers is drained before verification (L11)",
    Broken.CHILD_UNCHECKED: "a row that is written is not asked whether what it refers to is there",
    Broken.PARENT_UNCHECKED: "a deleted row is not asked whether another one refers to it",
    Broken.SNAPSHOT: "what a transaction has read may change before it commits: only its writes conflict (T1)",
    Broken.NO_LOCK: "publish and drain do not wait for transactions that have begun (L7, L9)",
    Broken.NO_CHECK: "the storages let in any version (T2)",
    Broken.IN_PLACE: "the rows stay where they are when their storages become more or fewer",
    Broken.REMOVED_EARLY: "a storage is removed as soon as the new placement is read, not when the change has ended",
    Broken.TOMBSTONE_ROW: "a row exists though its existence pair is a tombstone (R8)",
    Broken.STALE_FENCE: "the fence is read as of the transaction's snapshot (T2)",
    Broken.NEWER_VERSION: "a transaction uses a version that its snapshot does not hold (T3)",
}
