"""A stream of text or CSV as lines, whatever the pieces it comes in. Nothing is looked at twice.

The first line end decides what a line end is: newline, carriage return, or both. In text a backslash takes the next
character along, and a backslash with a point ends the data; in CSV what stands in quotes may have line ends. Most
pieces have none of that, and are split at their newlines.
"""

import codecs
import re
from collections.abc import Iterator

from expressions.errors import BAD_CHARACTER, BAD_COPY_FORMAT, PROGRAM_LIMIT, SqlError
from nodes.copy.encodings import NAMES
from nodes.copy.options import Options

LINE_CHARS_MAX = 2**23
NEWLINE, RETURN, BOTH = "\n", "\r", "\r\n"
MISPLACED = "end-of-copy marker is not alone on its line"


class Lines:
    """Lines of a stream. `number` is that of the line that is being read, or was handed out last."""

    def __init__(self, options: Options) -> None:
        self.number = 1
        self.is_over = False
        self._codec = options.codec
        self._decoder = codecs.getincrementaldecoder(options.codec or "utf-8")()
        self._is_csv, self._quote, self._escape = options.is_csv, options.quote, options.escape
        marks = {self._quote, self._escape} if self._is_csv else {"\\"}
        self._special = re.compile("[" + re.escape("".join(sorted(marks))) + "\r\n]")
        self._line_end = ""
        self._parts: list[str] = []
        self._size = 0
        self._held = ""
        self._is_quoted = False

    @property
    def pending(self) -> int:
        """Characters of a line that has not ended."""
        return self._size

    def feed(self, data: bytes) -> Iterator[str]:
        """The lines that end in this piece. Raises 22P04, 22021 or 54000 after those before the mistake."""
        yield from self._read(data, is_last=False)

    def end(self) -> Iterator[str]:
        """The last line, if it has no end."""
        yield from self._read(b"", is_last=True)
        if self._parts and not self.is_over:
            yield from self._ended("")

    def _read(self, data: bytes, *, is_last: bool) -> Iterator[str]:
        if self.is_over:
            return
        text, wrong = self._decoded(data, is_last=is_last)
        text = self._held + text
        self._held = ""
        yield from self._at_newlines(text) if self._is_plain(text) else self._one_by_one(text, is_last=is_last)
        if wrong is not None and not self.is_over:
            raise wrong

    def _decoded(self, data: bytes, *, is_last: bool) -> tuple[str, SqlError | None]:
        """The text up to the first byte that cannot be one, and why it cannot."""
        wrong: SqlError | None = None
        try:
            text = self._decoder.decode(data, is_last)
        except UnicodeDecodeError as error:
            text = error.object[: error.start].decode(self._codec or "utf-8")
            wrong = bad_bytes(error.object, error.start, self._codec)
        if (place := text.find("\0")) >= 0:
            text, wrong = text[:place], bad_bytes(b"\0", 0)
        return text, wrong

    # -- the usual: line ends are newlines, and nothing in the piece changes what they mean

    def _is_plain(self, text: str) -> bool:
        if self._line_end not in ("", NEWLINE) or RETURN in text:
            return False
        if self._is_csv:
            return self._quote == self._escape
        return "\\\n" not in text and "\\." not in text and not text.endswith("\\")

    def _at_newlines(self, text: str) -> Iterator[str]:
        *ended, rest = text.split(NEWLINE)
        for part in ended:
            if self._is_csv and part.count(self._quote) % 2:
                self._is_quoted = not self._is_quoted
            if self._is_quoted:
                self._keep(part + NEWLINE)
                self.number += self._line_end == NEWLINE
                continue
            self._line_end = NEWLINE
            yield from self._ended(part)
        if self._is_csv and rest.count(self._quote) % 2:
            self._is_quoted = not self._is_quoted
        self._keep(rest)

    def _keep(self, part: str) -> None:
        if part:
            self._parts.append(part)
            self._size += len(part)
            if self._size > LINE_CHARS_MAX:
                message = f"a line of COPY's data may have at most {LINE_CHARS_MAX} characters"
                hint = "look for a quote, or a line end, that is missing"
                raise SqlError(PROGRAM_LIMIT, message, hint=hint)

    def _ended(self, part: str) -> Iterator[str]:
        if self._parts:
            self._keep(part)
            part = "".join(self._parts)
            self._parts, self._size = [], 0
        yield part
        self.number += 1

    # -- everything else: one special character after the other

    def _one_by_one(self, text: str, *, is_last: bool) -> Iterator[str]:
        """Lines of a piece. What cannot be understood without the next piece is held back."""
        begin = place = 0
        while (found := self._special.search(text, place)) is not None:
            at, mark = found.start(), found.group()
            following = text[at + 1 : at + 2]
            if self._is_csv and (self._is_quoted or mark not in "\r\n"):
                if self._is_quoted and mark == self._escape != self._quote:
                    if not following and not is_last:
                        break
                    place = at + (2 if following and following in (self._quote, self._escape) else 1)
                    continue
                if mark == self._quote:
                    self._is_quoted = not self._is_quoted
                elif mark == (NEWLINE if self._line_end == NEWLINE else RETURN):
                    self.number += 1
                place = at + 1
                continue
            if not following and not is_last and mark != NEWLINE:
                break
            if mark == "\\" and following == ".":
                after = text[at + 2 : at + (4 if self._line_end == BOTH else 3)]
                if len(after) < (2 if self._line_end == BOTH else 1) and not is_last:
                    break
                self._end_at_marker(after, has_data=bool(self._parts) or at > begin)
                return
            if mark == "\\":
                place = at + 2
                continue
            length = self._end_of_line(mark, following)
            yield from self._ended(text[begin:at])
            begin = place = at + length
        else:
            self._keep(text[begin:])
            return
        self._keep(text[begin:at])
        self._held = text[at:]

    def _end_of_line(self, mark: str, following: str) -> int:
        """The length of a line end. Raises 22P04 for one of another kind than the first."""
        if mark == NEWLINE:
            if self._line_end in (RETURN, BOTH):
                raise self._another("newline", "\\n")
            self._line_end = NEWLINE
            return 1
        if self._line_end == NEWLINE or (self._line_end == BOTH and following != NEWLINE):
            raise self._another("carriage return", "\\r")
        if not self._line_end:
            self._line_end = BOTH if following == NEWLINE else RETURN
        return len(self._line_end)

    def _another(self, what: str, escaped: str) -> SqlError:
        if self._is_csv:
            hint = f"Use quoted CSV field to represent {what}."
            return SqlError(BAD_COPY_FORMAT, f"unquoted {what} found in data", hint=hint)
        return SqlError(BAD_COPY_FORMAT, f"literal {what} found in data", hint=f'Use "{escaped}" to represent {what}.')

    def _end_at_marker(self, after: str, *, has_data: bool) -> None:
        """The marker ends the data, when it stands alone on its line."""
        differs = SqlError(BAD_COPY_FORMAT, "end-of-copy marker does not match previous newline style")
        if self._line_end == BOTH:
            if after[:1] == NEWLINE:
                raise differs
            if after[:1] != RETURN:
                raise SqlError(BAD_COPY_FORMAT, MISPLACED)
            after = after[1:]
        if after not in (NEWLINE, RETURN):
            raise SqlError(BAD_COPY_FORMAT, MISPLACED)
        if self._line_end and after != self._line_end[-1]:
            raise differs
        if has_data:
            raise SqlError(BAD_COPY_FORMAT, MISPLACED)
        self.is_over = True


def bad_bytes(data: bytes, place: int, codec: str = "") -> SqlError:
    """22021 for the bytes at a place, as many as its first byte announces."""
    first = data[place]
    count = 1 if codec or first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4 if first < 0xF8 else 1
    shown = " ".join(f"0x{byte:02x}" for byte in data[place : place + count])
    return SqlError(BAD_CHARACTER, f'invalid byte sequence for encoding "{NAMES[codec]}": {shown}')
