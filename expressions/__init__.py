"""What SQL expressions mean: one engine for defaults, predicates, constraints and queries, everywhere."""
