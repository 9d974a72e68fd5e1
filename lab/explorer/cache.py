"""Stored proofs and counterexamples: the same model under the same rules is explored once. They lie in
$SCHEMALAB_HOME/explored/<rules>/<model>.json, where a change of any rule changes the folder
(`lab.explorer.fingerprint`). A file that cannot be read is ignored, one that cannot be written is skipped."""

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from catalog.text.message import NOTHING
from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.fingerprint import fingerprint
from lab.explorer.model import Model
from lab.explorer.spaces.config import Impossible
from lab.explorer.spaces.full_space import Plain
from lab.explorer.verdict import Answer, Verdict
from lab.explorer.witness import faults_after, parse

FOLDER = "explored"


def known_answer(home: Path, model: Model) -> Answer | None:
    try:
        body = json.loads(_file(home, model).read_text(encoding="utf-8"))
        return _answer(model, body) if body["model"] == json.loads(json.dumps(model.to_json())) else None
    except (OSError, ValueError, KeyError, TypeError, Impossible):
        return None


def keep(home: Path, answer: Answer) -> None:
    """Stores an answer, and deletes answers under other rules."""
    if answer.verdict is Verdict.UNKNOWN:
        return
    file = _file(home, answer.model)
    with suppress(OSError):
        if not file.parent.is_dir():
            shutil.rmtree(home / FOLDER, ignore_errors=True)
            file.parent.mkdir(parents=True)
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps(answer.to_json()), encoding="utf-8")
        draft.replace(file)


def _file(home: Path, model: Model) -> Path:
    return home / FOLDER / fingerprint() / f"{model.digest}.json"


def _answer(model: Model, body: dict[str, Any]) -> Answer:
    """Takes the stored steps again, so that an outdated counterexample is not returned."""
    plain = Plain(effects_of(model))
    steps = parse(plain, [step["id"] for step in body["counterexample"]])
    return Answer(
        model,
        Verdict(body["verdict"]),
        body["states"],
        body["depth"],
        body["seconds"],
        NOTHING,
        faults_after(plain, steps) if steps else (),
        steps,
        body["sometimes"],
    )
