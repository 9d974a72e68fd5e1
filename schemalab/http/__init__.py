"""HTTP as the page speaks it.

pages           a request is answered in one thread, whole
compression     an answer is compressed, a stream as one
protocol        a request's head is small and comes soon
request_bounds  its body too
storable_text   no text of it that cannot be stored
"""
