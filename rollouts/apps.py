"""The Django app of rollouts: its page, and the answers that the lab's worker finds. The command needs none of it."""

import time
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig

if TYPE_CHECKING:
    from lab.explorer.spaces.search import Budget, Watch


class RolloutsConfig(AppConfig):
    name = "rollouts"

    def ready(self) -> None:
        """The lab's queue of questions takes rollouts along."""
        from lab import answerers

        answerers.answered_by("rollout", _answer, places=("rollouts",))


def _answer(asked: Any, budget: "Budget", watch: "Watch") -> dict[str, Any]:
    """Imported with the first rollout: most processes never explore one."""
    from lab.explorer.spaces.search import Progress
    from rollouts.pages.answers import answer

    began = time.monotonic()

    def goes_on(worlds: int) -> bool:
        return watch(Progress(worlds, 0, 0, time.monotonic() - began))

    return answer(asked, worlds=budget.states, seconds=budget.seconds, watch=goes_on)
