"""The lab anywhere: the site's own chapters, stage and explorer, in a browser's Python, from a folder of static files.

    shell page, never navigates ── worker: `site` ── Django answers ──┐
        └─ frame: the site's pages ──► service worker ──► shell ◄─────┘

settings   Django's settings there: SQLite in memory, cookies for sessions, no cluster
urls       pages that need no cluster; all others answer with one sentence
site       the site in a browser's worker: requests, cookies, searches, and progress as one file
searches   the second worker: one search of the explorer at a time
loaded     what a worker may load, a rule of `make check`
"""
