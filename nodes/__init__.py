"""Node processes: PostgreSQL's wire protocol in front, leases and a SERIALIZABLE store behind.

wire/          messages and values, as bytes and back
clients/       connections, from the first byte to the last
people/        who may sign in, and do what
session/       a client's session, statement by statement
settings/      what SET may change
sql/           from a parse tree to a plan
copy/          formats of COPY
execution/     a plan, executed
trace/         what was done for a statement, for a client that asked
catalog_queries/ questions to the catalog, answered at the shadow
catalog_views/ rows of the catalog that a node brings
notifications/ LISTEN and NOTIFY
foreign_keys/  what a statement asks of other tables
store/         transactions at PostgreSQL
client/        the Python client of those operations, installable by itself
crud/          operations on rows, called by name
router/        the path of a request: reload, and one more attempt
console/       the SQL console of the page
traffic/       steady load that checks what it reads
entries        how many entries of an index each storage has
tasks          the timetable: lost runs of traffic are ended
server         a node's life
context        what all its sessions share
beside         work beside its clients
ending         ends a node that was told to, whatever hangs
alarm          ends a node whose loop stands still
metrics        what it did in the last second
"""
