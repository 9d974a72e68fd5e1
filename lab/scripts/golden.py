"""Golden scripts: commands, a line of dashes, their recorded output, blocks that end with an empty line
(docs/reference/scripts.md). A command with `!` must be refused; one without must not."""

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lab.scripts.commands_of import Lab, Refusal, perform

SEPARATOR = "---"
REFUSED = "error: "
BLOCKS_MAX = 500


@dataclass(frozen=True, slots=True)
class Block:
    """Some commands (comments among them) and their recorded output; `line` is where it begins."""

    line: int
    commands: tuple[str, ...]
    recorded: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The output of a block. `unexpected` are refusals without `!`, and `!` without refusal."""

    block: Block
    output: tuple[str, ...]
    unexpected: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        return self.output == self.block.recorded and not self.unexpected


@dataclass(frozen=True, slots=True)
class Playback:
    outcomes: tuple[Outcome, ...]
    why: str

    @property
    def is_same(self) -> bool:
        return all(outcome.is_same for outcome in self.outcomes)

    @property
    def has_surprises(self) -> bool:
        return any(outcome.unexpected for outcome in self.outcomes)

    @property
    def text(self) -> str:
        return "\n".join(
            "\n".join((*outcome.block.commands, SEPARATOR, *outcome.output, "")) for outcome in self.outcomes
        )

    def differences(self) -> Iterator[str]:
        for outcome in self.outcomes:
            if not outcome.is_same:
                yield f"line {outcome.block.line}:"
                yield from (f"  {one}" for one in outcome.unexpected)
                for line in difflib.unified_diff(
                    outcome.block.recorded, outcome.output, "recorded", "now", lineterm="", n=1
                ):
                    yield f"  {line}"


class BadScript(ValueError):
    """Says which line, and what is missing."""


@dataclass
class _Reading:
    blocks: list[Block] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    recorded: list[str] = field(default_factory=list)
    line: int = 0
    in_output: bool = False

    def end_block(self) -> None:
        if self.commands:
            self.blocks.append(Block(self.line, tuple(self.commands), tuple(self.recorded)))
        self.commands, self.recorded, self.in_output = [], [], False


def read(text: str) -> tuple[Block, ...]:
    """Raises `BadScript`."""
    reading = _Reading()
    for number, line in enumerate(text.splitlines(), 1):
        _read_line(reading, number, line.rstrip())
    reading.end_block()
    if not reading.blocks:
        raise BadScript("line 1: a script has commands")
    if len(reading.blocks) > BLOCKS_MAX:
        raise BadScript(f"line 1: a script has at most {BLOCKS_MAX} blocks, not {len(reading.blocks)}")
    if not reading.blocks[0].commands[0].startswith("#"):
        raise BadScript("line 1: a script begins with a comment that says why it matters")
    return tuple(reading.blocks)


def _read_line(reading: _Reading, number: int, line: str) -> None:
    if reading.in_output:
        if line:
            reading.recorded.append(line)
        else:
            reading.end_block()
    elif line == SEPARATOR:
        reading.in_output = True
    elif line:
        reading.line = reading.line if reading.commands else number
        reading.commands.append(line)


def play(text: str) -> Playback:
    blocks = read(text)
    lab = Lab()
    return Playback(tuple(_play_block(lab, block) for block in blocks), why=blocks[0].commands[0].lstrip("# "))


def _play_block(lab: Lab, block: Block) -> Outcome:
    output: list[str] = []
    unexpected: list[str] = []
    for line in block.commands:
        if not line.startswith("#"):
            output += _play_line(lab, line, unexpected)
    return Outcome(block, tuple(output), tuple(unexpected))


def _play_line(lab: Lab, line: str, unexpected: list[str]) -> list[str]:
    must_fail = line.startswith("!")
    output, refused = played_lines(lab, line.removeprefix("!").strip())
    if refused and not must_fail:
        unexpected.append(f"{line}: refused: {output[-1].removeprefix(REFUSED)}")
    if must_fail and not refused:
        unexpected.append(f"{line}: not refused")
    return output


def recorded(blocks: Iterable[Sequence[str]]) -> str:
    """The script of these blocks of commands, with their output. Raises `BadScript`."""
    return play("\n".join("\n".join((*block, SEPARATOR, "")) for block in blocks)).text


def played_lines(lab: Lab, line: str) -> tuple[list[str], bool]:
    """The output of a command, and whether it was refused: then its last line is the reason."""
    try:
        return perform(lab, line), False
    except Refusal as refusal:
        return [*refusal.output, f"{REFUSED}{refusal}"], True
