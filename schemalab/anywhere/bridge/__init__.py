"""The functions that a worker's JavaScript calls: `site` in one worker, `search` in the other.

Each takes `post` as its last argument, which sends a message to the shell beside the result.
"""
