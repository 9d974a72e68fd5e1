"""Cost against size: `python -m tools.bench.scale` adds an index to tables of 10 thousand to 10 million rows.

    python -m tools.bench.scale --rows 10000,100000     these sizes only
    python -m tools.bench.scale --page                  the page anew, from what was measured before
    python -m tools.bench.scale --anew                  every size again; else only those without a measurement

measure   one size: seconds, processors, memory, WAL
points    what was measured, and where it is kept
model     a fixed part and one for each row, fitted to it
plot      the same as a picture
page      its part of docs/scaling.md
"""
