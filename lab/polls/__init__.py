"""Polls: a question about a session on the stage, put to a room; votes stay hidden until they are revealed.

services    made, voted on, revealed, cleared, forgotten
"""
