"""The story as a page of its own: filtered, in pages that stay where they are, live, and to take away.

wanted   the part of the story that an address asks for
reading  its events, a page at a time
export   the same as JSON or CSV, streamed
views    the page and the two files
"""
