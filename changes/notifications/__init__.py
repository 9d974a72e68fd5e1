"""Notifications of changes, to webhooks and by email: operators choose where they go.

messages  an occasion in words and as data
outbox    from the story to deliveries: once for each event and destination
sending   one delivery: claimed, sent, tried again later, given up
webhook   a signed request
email     a message over SMTP
views     the page of operators
"""
