"""PostgreSQL's parser where it cannot run: the answers to all texts of chapters and examples, recorded by `pack`.

In the folder this file is the package `postgast`. A text that was not recorded is refused in words.
"""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import Any

from django.utils.translation import gettext
from google.protobuf.message import Message
from postgast import pg_query_pb2
from postgast.errors import PgQueryError as PgQueryError

RECORDED: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))


def parse(query: str) -> Any:
    return pg_query_pb2.ParseResult.FromString(_recorded("parse", query))


def scan(query: str) -> Any:
    return pg_query_pb2.ScanResult.FromString(_recorded("scan", query))


def deparse(tree: Message) -> str:
    return _recorded("deparse", tree.SerializeToString(deterministic=True).hex()).decode()


def _recorded(what: str, text: str) -> bytes:
    found = RECORDED[what].get(text)
    if found is None:
        raise PgQueryError(
            gettext("In a browser the lab reads only the statements of its chapters and examples; a cluster reads all.")
        )
    return b64decode(found)
