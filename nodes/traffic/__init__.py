"""Steady load on the nodes, so that "online" can be seen: every client knows what it wrote and checks what it reads.

book    the rows a client believes to be there, and what it does next
client  a thread that keeps a connection to some node
meter   counts of the traffic: each second, and at the end
running the clients of one run, started together
runs    runs that were started from the page: stored, reported, found again
"""
