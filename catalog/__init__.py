"""The schema, version by version, and the story of what happened to it: the lowest floor.

kinds        the kinds of elements: the states each goes through, and what is true of it, a row for each
elements     what a schema is made of: columns, indexes, constraints, placements
descriptor   one immutable version of a table's schema
object_names names that PostgreSQL gives where a statement gives none
view_definition  a view: a stored query, and what it reads, by ids
states       the rule table: what a statement does to an element's pairs in each state
values/      values of columns: SQL types, their texts, bytes that sort
hashing      how a router and a storage see that they mean different schemas
story        what happened, as events people can read
database     the address of the database, for sessions that are not Django's
hints        messages to workers that may get lost
uninterrupted  blocks that a process finishes before it ends itself
clock, pace  the wall clock; how fast somebody may go
text/        wording: descriptors, mistakes, marks in statements, plain text
live/        from a row of the story to the browser
story_list/  the story as a page: filtered, paged, live, as a file
diagrams/    sequence diagrams as SVG
"""
