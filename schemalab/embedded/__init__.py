"""PostgreSQL and Redis as children of `up`.

locations  the folders and sockets of one home
postgres   the database server
redis      the Redis server
leftovers  processes that an earlier PostgreSQL has left
remove     the whole home, removed
"""
