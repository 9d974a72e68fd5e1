"""The vectorised twins of the rules over pairs; tests hold each against its original.

encoding    of `storage.encoding`
rows        of `storage.pairs`
buckets     of `storage.buckets`
columns     of `storage.derived`, `storage.integrity.constraints`, and of the fill in `storage.mutations`
references  of `storage.integrity.references`

key_order    keys sorted as numbers of eight bytes
buffers      bytes of columns
packed_scan  pages of pairs as the server packs them
alone        Arrow without numpy and pandas
"""

from storage.arrow import alone

assert alone
