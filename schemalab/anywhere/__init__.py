"""The lab anywhere: the site's own chapters, stage and explorer, in a browser's Python, from a folder of static files
(docs/architecture/anywhere.md).

settings   Django's settings there: SQLite in memory, cookies for sessions, no cluster
context    what requests and templates know of the place
urls       pages that need no cluster; all others answer with one sentence
site       the site in a browser's worker: requests, cookies, searches, and progress as one file
searches   the second worker: one search of the explorer at a time
loaded     what a worker may load, a rule of `make check`
bridge/    the functions that the workers' JavaScript calls
parser     PostgreSQL's parser, which is WebAssembly there: trees and tokens
texts      the texts of expressions, from their trees
walk       a walk through all chapters with right answers
pack       writes the folder: `make anywhere`
used       templates and messages that packed modules can show
words      the shell page's texts
web/       the shell page, worker and service worker, in JavaScript
"""
