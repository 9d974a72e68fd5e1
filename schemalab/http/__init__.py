"""HTTP as the page speaks it.

pages           a request is answered in one thread, whole
fair_queue      one visitor's many requests do not slow the others'
compression     an answer is compressed, a stream as one
protocol        a connection that does nothing costs nobody else theirs
request_bounds  its body too
refusal_lines   a refused request is one line of the log
storable_text   no text of it that cannot be stored
"""
