"""The Django app of rollouts: its page, and the answers that the lab's worker finds. The command needs none of it."""

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
    from rollouts.pages.answers import answer

    return answer(asked)
