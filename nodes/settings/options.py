"""Settings in the startup parameter `options`, as command-line switches of a server: -c name=value, --name=value."""

from collections.abc import Iterator, Mapping

from expressions.errors import SYNTAX_ERROR, FatalError


def options_of(parameters: Mapping[str, str]) -> dict[str, str]:
    """The settings by name. Raises 42601 for anything else."""
    words = _words(parameters.get("options", ""))
    found: dict[str, str] = {}
    for word in words:
        if word.startswith("--"):
            given = word[2:]
        elif word.startswith("-c"):
            given = word[2:] or next(words, "")
        else:
            raise FatalError(SYNTAX_ERROR, f"invalid command-line argument for server process: {word}")
        name, equals, value = given.partition("=")
        if not equals:
            raise FatalError(SYNTAX_ERROR, f"{word.removesuffix(given)}{given} requires a value")
        found[name.replace("-", "_")] = value
    return found


def _words(text: str) -> Iterator[str]:
    """Words are parted by white space; a backslash takes the next character as it is."""
    word, is_escaped, is_begun = "", False, False
    for char in text:
        if is_escaped:
            word, is_escaped = word + char, False
        elif char == "\\":
            is_escaped = is_begun = True
        elif char.isspace():
            if is_begun:
                yield word
            word, is_begun = "", False
        else:
            word, is_begun = word + char, True
    if is_begun:
        yield word
