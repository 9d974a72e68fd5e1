"""The shadow: a database beside the store with an empty table for each published one, which answers catalog queries.

keys         the primary key and the public indexes of a table as one list, and what they are called
shown        what clients are shown of a version
view_queries the query of a view with the names that things have now
alters       SQL that leads from what is shown to what is to be shown, in place: pure
own_views    views of our own, by their columns
rights       the role that catalog queries run as, and what it may call and read
position     which versions the shadow shows
address      where it is
database     the database itself: made, prepared, opened
following    it follows the store
"""
