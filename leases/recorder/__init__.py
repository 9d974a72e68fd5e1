"""Reads what lanes over time are drawn from, and keeps what would be lost: the cluster's seconds.

reading    the facts of a window of time
seconds    the seconds of the cluster, from Redis into the database
trim       nothing is kept for ever
"""
