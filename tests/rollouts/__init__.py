"""Rollouts: their files, what they find, and their model held against a real PostgreSQL."""
