"""The connections of clients.

registry       all connections: admitted, found for a cancel, ended
tls            encryption
startup        the first messages
connection     the protocol as a server speaks it: whose turn it is, errors, cancels, time limits
statements     the messages of statements: simple queries, parse, bind, describe, execute
channel        a stream of messages, with limits in both directions
copying        data for COPY, and from it
portals        what is prepared and bound, and how rows reach the client
cursors        rows that are fetched in parts, in SQL
protocols      what a connection, its session and the registry need of each other
"""
