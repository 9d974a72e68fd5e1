"""Encodings of COPY's data, by PostgreSQL's names. A node speaks UTF-8; a file may be in another one."""

import codecs
import re

UTF8 = ""
"""The codec of UTF-8 and of SQL_ASCII: bytes as they are, which must be UTF-8."""

CODECS = {
    "utf8": UTF8, "unicode": UTF8, "sqlascii": UTF8,
    **{f"latin{n}": f"iso8859-{part}" for n, part in enumerate((1, 2, 3, 4, 9, 10, 13, 14, 15, 16), 1)},
    **{f"iso8859{part}": f"iso8859-{part}" for part in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)},
    **{f"{word}{n}": f"cp{n}" for word in ("win", "windows") for n in (866, 874, 1250, 1251, 1252, 1253, 1254, 1255)},
    **{f"{word}{n}": f"cp{n}" for word in ("win", "windows") for n in (1256, 1257, 1258)},
    "koi8r": "koi8-r", "koi8": "koi8-r", "koi8u": "koi8-u", "big5": "big5", "gbk": "gbk", "windows936": "gbk",
    "gb18030": "gb18030", "euccn": "gb2312", "eucjp": "euc_jp", "eucjis2004": "euc_jis_2004", "euckr": "euc_kr",
    "johab": "johab", "uhc": "cp949", "windows949": "cp949", "sjis": "cp932", "shiftjis": "cp932",
    "mskanji": "cp932", "win932": "cp932", "windows932": "cp932", "shiftjis2004": "shift_jis_2004",
}  # fmt: skip


NAMES = {codec: name.upper() for name, codec in reversed(CODECS.items())} | {UTF8: "UTF8"}
"""PostgreSQL's name of each codec's encoding."""


def codec_of(name: str) -> str:
    """The codec of an encoding; letters and figures of its name count. Raises `LookupError` when there is none."""
    codec = CODECS[re.sub(r"[^a-z0-9]", "", name.lower())]
    codecs.lookup(codec or "utf-8")
    return codec
