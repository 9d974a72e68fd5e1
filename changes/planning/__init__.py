"""Action to plan: which versions, in which order, with which reorganisations.

planner               the entry
stages                one series of versions for several elements (protocol section 4)
draft                 the effect of a statement on the table as it is
alter/                ALTER TABLE
renames               names
comments              COMMENT ON
copied_tables         CREATE TABLE (LIKE ..), written out
drops                 DROP of several, or with CASCADE, as a change each
dependents            what a foreign key needs stays
viewed                what views read stays
coordination          leases, the newest version alone, or both
sharding              by which columns and function rows are spread
tables                the tables there are
table_in_transaction  a table made inside a transaction (T9)
custom_plan           a plan that somebody wrote
"""
