"""The way to PostgreSQL and Redis.

database   one address, for psycopg and for Django
reachable  do they answer, and are they new enough?
outages    one line when one goes, one when it returns
broker     how a worker waits for Redis
"""
