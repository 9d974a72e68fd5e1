"""Steady load on the nodes, so that "online" can be seen: every client knows what it wrote and checks what it reads."""
