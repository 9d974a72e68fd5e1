"""Times as the administration writes them, with seconds. Django looks for a module of the language: en, zh_Hans."""

DATETIME_FORMAT = "Y-m-d H:i:s"
TIME_FORMAT = "H:i:s"
