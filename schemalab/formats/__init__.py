"""Times as the administration writes them, by language: with seconds, as everywhere else.

en, zh_Hans   Django looks for a module of the language; both have the same form
"""

DATETIME_FORMAT = "Y-m-d H:i:s"
TIME_FORMAT = "H:i:s"
