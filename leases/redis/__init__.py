"""Messages between nodes over Redis; nothing depends on them (L6).

cancellation  those that redis-py loses
gossip        news of versions
beats         a node's last two seconds, for reorganisations
samples       a node's last minute, who holds its leases, its counts
"""
