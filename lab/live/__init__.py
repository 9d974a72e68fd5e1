"""The real cluster, for the lab: tables on which rules may be broken, and how.

sandbox  sandbox tables: made, listed, dropped
"""
