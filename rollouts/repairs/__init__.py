"""The missing deploy: changes of a rollout that were tried, the first that is proved.

search   one change after the other, each explored
order    moves, IS DISTINCT FROM, DROP NOT NULL
both     releases that write both forms, between two that know one each
writing  the changed rollout as a file
"""
