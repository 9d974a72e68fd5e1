"""Runs that answer questions about time: moments on a clock, each with a sentence. The last one is the answer."""

from dataclasses import dataclass

from catalog.text.message import Text, Values
from lab.exercises.chapter import Form, Predict
from lab.exercises.observations import times_given
from lab.sessions.handbooks import earliest_next_min


@dataclass(frozen=True, slots=True)
class Moment:
    """A sentence at a time of the day, in minutes after midnight."""

    at_min: int
    text: Text


def clock_run(task: Predict) -> tuple[Moment, ...]:
    """Empty for a question that is not about the next edition."""
    if task.form is not Form.TIME or task.asks != "next edition":
        return ()
    posted, every, give_up, slack = times_given(task.given)
    words: Values = {"every": every, "give_up": give_up, "slack": slack}
    end = earliest_next_min(posted_min=posted, look_every_min=every, give_up_min=give_up, slack_min=slack)
    return (
        Moment(posted, Text("Edition 2 is posted. The unluckiest person looked a second before.")),
        Moment(posted + every, Text("{every} minutes later they try to look again, and cannot see it.", words)),
        Moment(
            posted + every + give_up, Text("{give_up} minutes later they stop work: a correct watch says so.", words)
        ),
        Moment(end, Text("{slack} minutes later the slowest watch says so too. Nobody at work uses edition 1.", words)),
    )
