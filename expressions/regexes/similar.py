"""SIMILAR TO: a pattern of the SQL standard in the words of a regular expression.

a%(b|c)_    ^(?:a.*(?:b|c).)$
"""

from expressions.errors import SqlError, unsupported

_ENDS = ("^(?:", ")$")


def similar_to(pattern: str, escape: str = "\\") -> str:
    """The regular expression that a pattern means. Raises 22025 for an escape string of several characters."""
    if len(escape) > 1:
        raise SqlError("22025", "invalid escape string", hint="Escape string must be empty or one character.")
    written = [_ENDS[0]]
    is_escaped, brackets, is_first = False, 0, False
    for char in pattern:
        if is_escaped:
            if char == '"' and not brackets:
                raise unsupported('substring(.. SIMILAR ..) with parts between #"', hint="use substring(.. FROM ..)")
            written.append("\\" + char)
            is_escaped = is_first = False
        elif char == escape:
            is_escaped = True
        elif brackets:
            if char == "\\":
                written.append("\\")
            written.append(char)
            if char == "]" and not is_first:
                brackets -= 1
            elif char == "[":
                brackets += 1
            is_first = is_first and char == "^"
        elif char == "[":
            written.append(char)
            brackets, is_first = 1, True
        else:
            written.append(_OUTSIDE.get(char, char))
    return "".join([*written, _ENDS[1]])


_OUTSIDE = {"%": ".*", "_": ".", "(": "(?:", "\\": "\\\\", ".": "\\.", "^": "\\^", "$": "\\$"}
