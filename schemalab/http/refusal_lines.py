"""Logs a refused request in one line, without the traceback that Django adds to each 400 and 403."""

import logging


class WithoutTraceback(logging.Filter):
    """Drops the traceback of answers below 500."""

    def filter(self, record: logging.LogRecord) -> bool:
        if getattr(record, "status_code", 500) < 500:
            record.exc_info = record.exc_text = None
        return True
