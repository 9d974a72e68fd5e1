"""The functions that a worker's JavaScript calls: `site` in one worker, `search` in the other."""

import os

os.environ |= {
    "DJANGO_ALLOW_ASYNC_UNSAFE": "1",  # the worker's event loop runs, and a request is answered within one of its steps
    "DJANGO_SETTINGS_MODULE": "schemalab.anywhere.settings",
    "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python",
    "PYTHONTZPATH": "/app/zoneinfo",
}
