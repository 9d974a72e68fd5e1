"""What nodes tell each other over Redis; nothing depends on it (L6).

gossip   news of versions
samples  a node's last minute, and who holds its leases
"""
