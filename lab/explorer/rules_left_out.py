"""The rules that a model may leave out, each by the name that the command and links know it by."""

from enum import Enum


class Broken(Enum):
    """A rule left out: its name in the command and in links, and its words in a model's title."""

    words: str

    def __new__(cls, name: str, words: str = "") -> "Broken":
        rule = object.__new__(cls)
        rule._value_, rule.words = name, words
        return rule

    SKIPPED = "skipped", "the fill is left out"
    EARLY = "early", "fill and verification begin while nodes still use the version before (R1, L9)"
    BLIND = "blind", "the fill puts what it read over whatever is there (R2)"
    EXISTS_ONLY = "exists-only", "the fill checks only that the row still exists (R2)"
    NOT_CLEARED = "not-cleared", "tombstones from before the drain are not cleared (R6)"
    SEEN_ONLY = "seen-only", "a removal leaves a tombstone only where it sees a pair (R5)"
    PURGED = "purged", "tombstones are removed while the fill runs (R7)"
    TWICE = "twice", "a finished range is done again by a second attempt (R3)"
    NO_CLOSE = "no-close", "the run is not closed: a worker believed dead may still write (R7)"
    NO_PURGE = "no-purge", "tombstones are never purged (R8)"
    DELETE_EARLY = "delete-early", "the pairs are deleted while nodes still use the version before (L9)"
    NO_DELETE = "no-delete", "the pairs are not deleted before the element is absent (X4)"
    VISIBLE_MOVE = "visible-move", "a change of key carries only the columns that the version can name"
    VALUES_FIRST = "values-first", "a column's values are deleted before the entries made of them"
    INDEX_FIRST = "index-first", "the fill of an index reads a missing value as NULL, not as the fill value"
    LATE_CANCEL = "early-turn", "a cancel is taken after an irreversible step (X6)"
    UNVERIFIED = "unverified", "nothing is verified"
    ONE_DRAINED = "one-drained", "only the table that refers is drained before verification (L11)"
    CHILD_UNCHECKED = "child-unchecked", "a row that is written is not asked whether what it refers to is there"
    PARENT_UNCHECKED = "parent-unchecked", "a deleted row is not asked whether another one refers to it"
    SNAPSHOT = "snapshot", "what a transaction has read may change before it commits: only its writes conflict (T1)"
    NO_LOCK = "no-lock", "publish and drain do not wait for transactions that have begun (L7, L9)"
    NO_CHECK = "no-check", "the storages let in any version (T2)"
    IN_PLACE = "in-place", "the rows stay where they are when their storages become more or fewer"
    REMOVED_EARLY = (
        "removed-early",
        "a storage is removed as soon as the new placement is read, not when the change has ended",
    )
    TOMBSTONE_ROW = "tombstone-row", "a row exists though its existence pair is a tombstone (R8)"
    STALE_FENCE = "stale-fence", "the fence is read as of the transaction's snapshot (T2)"
    NEWER_VERSION = "newer-version", "a transaction uses a version that its snapshot does not hold (T3)"
