"""Benchmarks: ratios measured in one run beside what they are compared with. `make bench` writes the page.

proofs      the proof of a plan
steps       the steps of a change alone
crossings   how much of our code a statement crosses in a node
watchers    from a commit to two hundred browsers
end_to_end  an index as its submitter feels it
scale/      cost against size
fill        fills beside writers, and alone
jobs        loads, the other data jobs, and scans: rows per second
statements  statements through a node
requests    requests of crud: their check, their reload, beside SQL
crowd       a hundred lease machines
stage       steps on the lab's stage
classroom   a class of thirty at the lab
ladders     a class of thirty that builds ladders
picture     the page of the cluster beside traffic and a fill
anywhere    the lab in a browser, from a folder of files (a command of its own)
rows, writers  rows and writers for them
report      the figures, and their page
"""
