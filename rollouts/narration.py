"""A trace and its fault in sentences, as texts that a page can put into another language."""

from collections.abc import Iterator

from catalog.text.message import Text
from rollouts.statements.values import Value, text_of
from rollouts.worlds.model import Model
from rollouts.worlds.search import Finding, Outcome
from rollouts.worlds.world import BACKFILL, TRANSACTIONS_MAX, Step, Transaction

OF_DEPLOYS = {
    "schema": "deploy {number}: {what}",
    "trigger": "deploy {number}: trigger {what}",
    "gone": "deploy {number}: release {what} is gone",
}
FOLD_FROM = 3
"""So many deploys in a row, in which nothing else happened, become one line."""


def shown(value: Value) -> str:
    return "NULL" if value is None else text_of(value) or "''"


def _pairs(pairs: tuple[tuple[str, Value], ...]) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in pairs)


class Narrator:
    def __init__(self, model: Model) -> None:
        self._model = model

    def step(self, step: Step) -> Text:
        stage = self._model.stages[step.stage]
        values: dict[str, str | int | Text] = {"number": stage.done + 1, "what": stage.text}
        match step.kind:
            case "schema" | "trigger" | "gone":
                return Text(OF_DEPLOYS[step.kind], values)
            case "publish":
                return Text("deploy {number}: a version is published: {what}", values)
            case "drain":
                return Text("deploy {number}: every server uses the newest version", values)
            case "verify":
                return Text("deploy {number}: every row is verified", values)
            case "starts":
                old = self._model.releases[stage.running[0]].name
                return Text("deploy {number}: release {what} starts beside release {old}", {**values, "old": old})
            case "back":
                release = self._model.releases[stage.running[0] - 1].name
                return Text("rollback: release {release} runs again", {"release": release})
        text = self._backfill(step, values) if step.release == BACKFILL else self._operation(step)
        if step.under == "older":
            return Text("{step}, on a server with the older version of the schema", {"step": text})
        return Text("{step}, on a server with the newer version of the schema", {"step": text}) if step.under else text

    def _backfill(self, step: Step, values: dict[str, str | int | Text]) -> Text:
        key = dict(step.environment).get(self._model.rollout.key)
        values["row"] = Text("row {key}", {"key": shown(key)}) if key is not None else Text("all rows")
        if step.kind == "begins":
            return Text("deploy {number}: the backfill looks at {row}", values)
        if step.kind == "commit":
            return Text("deploy {number}: the backfill commits {row}", values)
        if step.answer:
            values["answer"] = _pairs(step.answer[0])
            return Text("deploy {number}: the backfill reads {row}: {answer}", values)
        if not step.met:
            return Text("deploy {number}: the backfill passes {row} by", values)
        return Text("deploy {number}: the backfill writes {row}", values)

    def call(self, of: Step | Transaction) -> str:
        """`rename(id = 1, name = Bob)`."""
        asked = self._model.asked(of.release or 0, of.operation) or {self._model.rollout.key}
        return f"{of.operation}({_pairs(tuple(pair for pair in of.environment if pair[0] in asked))})"

    def _operation(self, step: Step) -> Text:
        release = self._model.releases[step.release or 0]
        operation = release.operations[step.operation]
        values: dict[str, str | int | Text] = {"release": release.name, "call": self.call(step)}
        if step.kind == "commit":
            return Text("release {release}: {call} commits", values)
        values |= {"at": step.at + 1, "of": len(operation.statements)}
        if step.kind == "begins":
            return Text("release {release}: {call}, statement {at} of {of} begins", values)
        if step.answer:
            values["answer"] = _pairs(step.answer[0])
            if len(operation.statements) > 1:
                return Text("release {release}: {call}, statement {at} of {of} gives {answer}", values)
            return Text("release {release}: {call} gives {answer}", values)
        if step.met == 0:
            if len(operation.statements) > 1:
                return Text("release {release}: {call}, statement {at} of {of} finds no row", values)
            return Text("release {release}: {call} finds no row", values)
        if len(operation.statements) > 1:
            return Text("release {release}: {call}, statement {at} of {of}", values)
        return Text("release {release}: {call}", values)

    def trace(self, finding: Finding) -> Iterator[Text]:
        """The steps to the fault, one line each; deploys in which nothing else happened share a line."""
        deploys: list[Step] = []
        for step in (*finding.steps, None):
            if step is not None and step.release is None and step.kind != "back" and step is not finding.steps[-1]:
                deploys.append(step)
                continue
            if len(deploys) >= FOLD_FROM:
                stages = self._model.stages
                first, last = stages[deploys[0].stage].done + 1, stages[deploys[-1].stage].done + 1
                yield Text("deploys {first} to {last}: nothing else happens", {"first": first, "last": last})
            else:
                yield from map(self.step, deploys)
            deploys = []
            if step is not None:
                yield self.step(step)

    def fault(self, finding: Finding) -> Text:
        found = dict(finding.found.values)
        values: dict[str, str | int | Text] = {
            "release": finding.release,
            "operation": finding.operation,
            "code": finding.found.about,
            "message": str(found.get("message", "")),
            "number": finding.done + 1,
        }
        match finding.kind:
            case "fails":
                return Text("deploy {number} fails with {code}: {message}", values)
            case "refused" if not finding.release:
                return Text("the backfill of deploy {number} is refused with {code}: {message}", values)
            case "refused":
                return Text("release {release}: {operation} is refused with {code}: {message}", values)
        if finding.found.about == "row":
            if finding.kind == "lost":
                values["wanted"] = _pairs(found["wanted"])
                return Text("release {release}: {operation} finds no row; written last: {wanted}", values)
            values["given"] = _pairs(found["given"])
            return Text("release {release}: {operation} finds a row that was deleted: {given}", values)
        values |= {"name": finding.found.about, "given": shown(found["given"]), "wanted": shown(found["wanted"])}
        if finding.kind == "lost":
            return Text("release {release}: {operation} gives {name} = {given}; written last: {wanted}", values)
        return Text("release {release}: {operation} gives {name} = {given}, a value that no user wrote", values)

    def bounds(self) -> Text:
        rollout = self._model.rollout
        names = ", ".join(f"{len(values)} {name}" for name, values in rollout.values.items())
        values: dict[str, str | int | Text] = {
            "rows": len(self._model.keys),
            "names": names,
            "transactions": TRANSACTIONS_MAX,
        }
        if rollout.is_on_lab:
            return Text(
                "rows: {rows}; values: {names}; Schema Lab: SERIALIZABLE, two versions of the schema in use", values
            )
        if self._model.rows_needed == 1:
            return Text(
                "rows: {rows}, since no statement ties rows together; values: {names}; "
                "operations of several statements at once: {transactions}; READ COMMITTED",
                values,
            )
        return Text(
            "rows: {rows}; values: {names}; operations of several statements at once: {transactions}; READ COMMITTED",
            values,
        )

    def occurred(self, outcome: Outcome) -> list[Text]:
        """Events that some schedule reached; a proof without them says little."""
        ran = {fact[1:] for fact in outcome.occurred if fact[0] == "ran"}
        texts = []
        readers = sorted(fact[1] for fact in outcome.occurred if fact[0] == "read what another wrote")
        texts += [Text("release {release} read what another release had written", {"release": one}) for one in readers]
        kinds = {fact[1] for fact in outcome.occurred if fact[0] == "backfill"}
        texts += [Text("a backfill wrote a row")] if "wrote" in kinds else []
        texts += [Text("a backfill met a row that a release had already written")] if "passed by" in kinds else []
        for release in self._model.releases:
            never = [name for name in release.operations if (release.name, name) not in ran]
            if never:
                values: dict[str, str | int | Text] = {"release": release.name, "names": ", ".join(never)}
                texts.append(Text("release {release} never found a row for: {names}", values))
        return texts
