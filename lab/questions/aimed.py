"""The explorer's spaces with a goal as the only fault, from the first state or one without transactions."""

from catalog.text.message import NOTHING, Text
from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Fault
from lab.explorer.spaces.config import Config
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.reduced_space import Atomic, World
from lab.questions.goal import Goal


class AimedPlain(Plain):
    def __init__(self, effects: Effects, goal: Goal, config: Config, *, fused: bool = False) -> None:
        super().__init__(effects, fused=fused)
        self.goal, self.config = goal, config

    def apart(self) -> "AimedPlain":
        return AimedPlain(self.effects, self.goal, self.config)

    def start(self) -> Config:
        return self.config

    def first(self) -> list[Config]:
        return super().first() if self.config.given else [self.config]

    def faults(self, config: Config) -> tuple[Fault, ...]:
        return self.goal.of(super().faults(config), self.stops[config.stop].newest)


class AimedAtomic(Atomic):
    def __init__(self, effects: Effects, goal: Goal, config: Config) -> None:
        super().__init__(effects)
        self.goal, self.config = goal, config

    def first(self) -> list[World]:
        if self.config.given:
            return super().first()
        stop, contents, nodes, ranges, crashes, operations, _ = self.config
        fence = self.stops[stop].lifted((1,) * len(self.stops[stop].tables))
        uses = (tuple(max(one, least) for one, least in zip(node.use, fence, strict=True)) for node in nodes)
        return [World(stop, contents, tuple(sorted(uses)), ranges, crashes, operations)]

    def faults(self, world: World) -> tuple[Fault, ...]:
        return self.goal.of(super().faults(world), self.stops[world.stop].newest)


def why_not_from(plain: Plain, config: Config) -> Text:
    """Why no search may begin in this state; empty if it may."""
    for name, node in zip(plain.names, config.nodes, strict=True):
        if node.transaction is not None:
            return Text("{node} has an open transaction", {"node": str(name)})
        if any(held.version and not held.live for held in node.held):
            return Text("a lease of {node} has run out", {"node": str(name)})
    return NOTHING
