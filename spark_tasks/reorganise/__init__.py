"""Filling, verifying and removing (protocol section 7).

backfill      pairs for existing rows, put only where no writer has decided
rows_without_value  the rows that a fill can do nothing for
tombstones    cleared before a fill, purged after
verify        by content, in both directions, in one snapshot
repair        a unique entry that a fill could not put (R10)
delete        entries, values or rows, in delete-only
drop_storage  the storage of dropped tables
drop_views    pair views of versions that are over
"""

from storage import arrow

assert arrow
