"""From the story to the browser: a snapshot, then events in order, over one WebSocket for each page.

consumers      the WebSocket of a page: each event once and in order, and changed parts
snapshot       a stream's state, and the events that a browser missed
relay          events and fresh parts for open pages: one listener for all sockets of a process
right_to_follow  whether an open socket may still be served
frames         a message for many sockets is framed once and written at once
database_reads  in threads that keep their connection
single_flight  simultaneous equal reads are done once
routing        where WebSockets arrive
signals        signing out closes a person's sockets
"""
