"""The load of others beside a run, as nodes report it four times a second, else as the database shows it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings
from redis import Redis

from leases.redis import beats
from spark_tasks.runs.feedback import QUIET_S, Feedback, Target, Verdict, Why, are_idle
from spark_tasks.runs.pacing import Traffic, share_of_time


def _reader() -> Redis:
    return beats.reader(settings.REDIS_URL)


@dataclass(slots=True)
class Beside:
    traffic: Traffic = field(default_factory=Traffic)
    feedback: Feedback = field(default_factory=Feedback)
    redis: Redis = field(default_factory=_reader)

    def lead_on(self, felt: Mapping[str, Any], now: float) -> None:
        """Continues from what `look` found for another run of the change."""
        if felt:
            self.feedback.lead_on(Verdict.from_json(felt), now)

    def look(self, nodes: Sequence[str], target: Target, transactions: int, now: float) -> dict[str, Any]:
        self.traffic.hear(transactions, now)
        heard = beats.read(self.redis, nodes)
        if heard:
            verdict = self.feedback.hear(list(heard.values()), target, now)
        else:
            self.feedback.hear_nothing()
            works = share_of_time(traffic=self.traffic.at_a_time)
            verdict = Verdict(works, Why.UNKNOWN if works < 1.0 else Why.NOBODY)
        is_quiet = len(heard) == len(nodes) > 0 and are_idle(heard.values(), QUIET_S)
        found = json.dumps(asdict(verdict))
        return {"traffic": self.traffic.at_a_time, "works": verdict.works, "is_quiet": is_quiet, "felt": found}
