"""Real clients against a real node. `make clients` runs them and writes docs/reference/clients.md.

installed  the clients, in the versions that are pinned here, and where they are put
drivers/   what is tried with each driver, in its own language
programs   what is tried with psql, pgbench, pg_dump and pgcli
outcomes   what came of it: works, is refused by name, is wrong, could not be tried
page       the page
"""
