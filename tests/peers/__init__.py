"""Tools that people use for online schema change, beside ours: `make bench-peers`, or `python -m tests.peers --rows N`.

The same rows, the same changes, the same machine, one system at a time, each idle and beside the same paced writer.

installed   MariaDB and pt-online-schema-change from Debian, in a folder of their own; gh-ost where there is one
rows        the rows that all of them get
tools       what a tool is asked to do
ours        Schema Lab
postgres    CREATE INDEX CONCURRENTLY, and an UPDATE by ranges
mariadb     pt-online-schema-change, gh-ost, and MariaDB's own ALTER TABLE
rounds      a change timed, alone and beside the writer
page        docs/benchmarks-peers.md
"""
