"""Folders of chapters, ours and a teacher's (`EXERCISES_DIR`). Changed files are read again without a restart."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lab.exercises.chapter import Chapter
from lab.exercises.reading import FOLDER, BadExercise, read_chapter
from lab.exercises.texts import LANGUAGES, BadText, Texts, read_texts

OURS = Path(__file__).parent / "chapters"
STRUCTURE = "exercise.toml"
FILE_BYTES_MAX = 200_000
CHAPTERS_MAX = 200


@dataclass(frozen=True, slots=True)
class Book:
    folder: str
    chapter: Chapter | None
    texts: Mapping[str, Texts]
    faults: tuple[str, ...] = ()

    def text(self, language: str, key: str) -> str:
        found = self.texts[language].get(key) if language in self.texts else ""
        return found or (self.texts["en"].get(key) if "en" in self.texts else "")


def shelf(*folders: Path) -> tuple[Book, ...]:
    """All books of these folders, by name. A repeated name is a fault of the second."""
    places = [
        place
        for folder in folders
        if folder.is_dir()
        for place in sorted(folder.iterdir())
        if FOLDER.fullmatch(place.name) and place.is_dir()  # other things may lie beside numbered folders
    ][:CHAPTERS_MAX]
    return _read(tuple((place, _changed(place)) for place in places))


def books(extra: Path | None = None) -> tuple[Book, ...]:
    return shelf(OURS) if extra is None else shelf(OURS, extra)


def _changed(place: Path) -> tuple[tuple[str, int, int], ...]:
    found = []
    for name in (STRUCTURE, *LANGUAGES.values()):
        path = place / name
        if path.is_file():
            stat = path.stat()
            found.append((name, stat.st_mtime_ns, stat.st_size))
    return tuple(found)


@lru_cache(maxsize=8)
def _read(places: tuple[tuple[Path, tuple[tuple[str, int, int], ...]], ...]) -> tuple[Book, ...]:
    read: dict[str, Book] = {}
    twice = []
    for place, _ in places:
        book = read_book(place)
        if place.name in read:
            twice.append(Book(place.name, None, {}, (f"{place}: there is a chapter of this name already",)))
        else:
            read[place.name] = book
    return (*(read[name] for name in sorted(read)), *twice)


def read_book(place: Path) -> Book:
    faults, chapter = [], None
    try:
        chapter = read_chapter(place.name, _text(place / STRUCTURE))
    except (BadExercise, Unreadable) as error:
        faults.append(str(error))
    texts = {}
    for language, name in LANGUAGES.items():
        try:
            texts[language] = read_texts(language, _text(place / name))
        except (BadText, Unreadable) as error:
            faults.append(f"{name}: {error}")
    return Book(place.name, chapter, texts, tuple(faults))


class Unreadable(Exception):
    """A file that is missing, too long, or no text."""


def _text(path: Path) -> str:
    try:
        size = path.stat().st_size
        if size > FILE_BYTES_MAX:
            raise Unreadable(f"{path.name} has {size} bytes; {FILE_BYTES_MAX} are the limit")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path.name} is no UTF-8 text") from error
