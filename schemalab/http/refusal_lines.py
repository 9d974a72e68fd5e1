"""A refused request is one line of the log, though Django adds a traceback to each 400 and 403."""

import logging


class WithoutTraceback(logging.Filter):
    """Drops the traceback of a record about an answer below 500."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        return True
