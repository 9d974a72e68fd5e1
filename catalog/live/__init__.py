"""From the story to the browser: a snapshot, then events in order, over one WebSocket for each page.

consumers      the WebSocket of a page: each event once and in order, and what is new of its parts
snapshot       what a stream shows now, and what somebody who was away has missed
relay          events and fresh parts for the pages that are open: one listener for all sockets of a process
right_to_follow  whether an open socket may still be served
frames         what is the same for many sockets is framed once and written at once
database_reads  in threads that keep their connection
single_flight  reads that many sockets want at the same moment are done once
routing        where WebSockets arrive
signals        signing out closes a person's sockets
"""
