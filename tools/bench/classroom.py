"""A class of thirty at the lab: a teacher watches the grid, learners take random steps, and browsers ask the explorer.
All share the machine's cores. A learner thinks, steps and waits for an answer at once: more than a person does."""

import http.client
import itertools
import json
import random
import re
import statistics
import threading
import time
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from http.cookies import SimpleCookie
from typing import Any

from tests.harness.cluster import RunningCluster
from tools.bench.report import Figure, percentile

LEARNERS = 30
SECONDS = 60.0
THINK_S = (1.0, 4.0)
STEPS_EACH = 40
"""After so many steps a learner begins anew, with another set-up."""

SETUPS = ("one-jump", "delete-only", "write-only", "full-ladder", "fill", "unique-index", "leases")
CHAPTER, PREDICTION = "01-one-jump", "what-is-left"
CHOICES = ("nothing", "entry", "row", "both")
LOOK_S = 2.0
"""The teacher's page asks so often. A stage that waits for an answer looks when the last look said."""

ASKED_SETUPS = ("one-jump", "delete-only", "write-only", "full-ladder")
VERSIONS = ((), *((version,) for version in range(1, 7)))
CLAUSES = ("C1", "C2", "C3", "C4", "C5", "C6", "C7")
JOIN_S_MAX = 60.0


@dataclass(slots=True)
class Browser:
    host: str
    cookies: dict[str, str] = field(default_factory=dict)
    connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> str:
        return self._ask("GET", path, None, {})

    def form(self, path: str, fields: dict[str, Any]) -> str:
        body = urllib.parse.urlencode(fields | {"csrfmiddlewaretoken": self._token()}, doseq=True)
        return self._ask("POST", path, body, {"Content-Type": "application/x-www-form-urlencoded"})

    def json(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "X-CSRFToken": self._token()}
        return json.loads(self._ask("POST", path, json.dumps(body), headers))  # type: ignore[no-any-return]

    def other_connection(self) -> "Browser":
        return replace(self, connection=None, cookies=self.cookies)

    def _token(self) -> str:
        return self.cookies["csrftoken"]

    def _ask(self, method: str, path: str, body: str | None, headers: dict[str, str], hops: int = 5) -> str:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        try:
            answer = self._answer(method, path, body, headers | {"Cookie": cookies})
        except ConnectionError:  # the server has closed a connection that nobody used for a while
            self.connection = None
            answer = self._answer(method, path, body, headers | {"Cookie": cookies})
        text = answer.read().decode()
        for line in answer.headers.get_all("Set-Cookie", []):
            self.cookies.update({name: morsel.value for name, morsel in SimpleCookie(line).items()})
        if answer.status in (301, 302, 303):
            assert hops, f"{path} leads round in a circle"
            where = urllib.parse.urlsplit(answer.headers["Location"])
            return self._ask("GET", f"{where.path}?{where.query}", None, {}, hops - 1)
        assert answer.status == 200, f"{method} {path}: {answer.status} {text[:300]}"
        return text

    def _answer(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> http.client.HTTPResponse:
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.host, timeout=JOIN_S_MAX)
        self.connection.request(method, path, body, headers)
        return self.connection.getresponse()


@dataclass(frozen=True, slots=True)
class Lesson:
    """Durations in seconds, and the answered questions of each learner."""

    steps: list[float]
    grids: list[float]
    answered: list[int]
    joined_s: float


def measure(cluster: RunningCluster) -> list[Figure]:
    seen = hold_class(cluster, learners=LEARNERS, seconds=SECONDS)
    rate = len(seen.steps) / SECONDS
    return [
        Figure(
            f"a step on the stage answered, {LEARNERS} learners at once",
            "p95 at most 200 ms",
            f"p50 {_ms(statistics.median(seen.steps))}, p95 {_ms(percentile(seen.steps, 0.95))}, worst"
            f" {_ms(max(seen.steps))} ({len(seen.steps)} steps, {rate:.0f}/s)",
            f"POST lab/stage/ over HTTP to the running site, {SECONDS:.0f} s, {THINK_S[0]:g} to {THINK_S[1]:g} s of"
            f" thought between two steps of a learner, sessions of {len(SETUPS)} set-ups; meanwhile the explorer"
            " answers their questions without a pause, and a teacher's grid is asked for every other second.",
        ),
        Figure(
            f"a teacher's grid of {LEARNERS} learners",
            "p95 at most 200 ms",
            f"p50 {_ms(statistics.median(seen.grids))}, p95 {_ms(percentile(seen.grids, 0.95))}; all joined in"
            f" {seen.joined_s:.1f} s",
            "The fragment that the page asks for every other second, in the same minute.",
        ),
        Figure(
            f"questions to the explorer, {LEARNERS} learners ask at once and again",
            "one more for some than for others",
            f"{sum(seen.answered)} answered, {min(seen.answered)} to {max(seen.answered)} of each learner",
            "Each question is one that nobody has asked; who has an answer asks the next one at once.",
        ),
    ]


def hold_class(cluster: RunningCluster, *, learners: int, seconds: float) -> Lesson:
    host = urllib.parse.urlsplit(cluster.address).netloc
    teacher = Browser(host)
    cluster.manage("users", "add", "teacher", "instructor")
    link = cluster.manage("signin-link", "--user", "teacher").stdout.strip()
    teacher.get(urllib.parse.urlsplit(link).path)
    course, invitation = make_course(teacher)
    began = time.perf_counter()
    with ThreadPoolExecutor(2 * learners + 1) as pool:
        browsers = list(pool.map(lambda _: joined(host, invitation), range(learners)))
        joined_s = time.perf_counter() - began
        stop = threading.Event()
        questions = unasked()
        stepping = [pool.submit(take_steps, browser, seed, stop) for seed, browser in enumerate(browsers)]
        asking = [pool.submit(ask, browser.other_connection(), questions, stop) for browser in browsers]
        watching = pool.submit(watch, teacher, course, stop)
        wait([*stepping, *asking, watching], timeout=seconds, return_when="FIRST_EXCEPTION")
        stop.set()
        steps = [second for one in stepping for second in one.result()]
        return Lesson(steps, watching.result(), [one.result() for one in asking], joined_s)


def make_course(teacher: Browser) -> tuple[str, str]:
    teacher.get("/lab/courses/")
    fields = {"name": "Bench", "chapters": [CHAPTER], "language": "en", "members": "anonymous"}
    text = teacher.form("/lab/courses/", fields)
    course = re.search(r'"(/lab/courses/\d+/)grid/', text)
    invitation = re.search(r"/join/[\w-]+/", text)
    assert course is not None, text[:300]
    assert invitation is not None, text[:300]
    return course[1], invitation[0]


def joined(host: str, invitation: str) -> Browser:
    browser = Browser(host)
    browser.get(invitation)
    browser.form(invitation, {})
    return browser


def take_steps(browser: Browser, seed: int, stop: threading.Event) -> list[float]:
    """Answers the prediction, then takes random steps. Seconds of each step."""
    chance, seconds = random.Random(seed), list[float]()
    path = f"/lab/chapters/{CHAPTER}/{PREDICTION}/"
    browser.get(path)
    browser.form(f"{path}answer/", {"choice": chance.choice(CHOICES)})
    while not stop.is_set():
        session = first_session(browser, chance.choice(SETUPS))
        for _ in range(STEPS_EACH):
            if stop.wait(chance.uniform(*THINK_S)):
                break
            began = time.perf_counter()
            answer = browser.json("/lab/stage/", {"session": session})
            seconds.append(time.perf_counter() - began)
            offers = [one for one in answer["shown"]["offers"] if not one["why_not"]]
            if not offers:
                break
            session["steps"] = [*answer["session"]["steps"], *chance.choice(offers)["takes"]]
    return seconds


def first_session(browser: Browser, setup: str) -> dict[str, Any]:
    """The session at the beginning of the stage's page; the first minute has another page."""
    text = browser.get(f"/lab/stage/?setup={setup}&present=0")
    answer = re.search(r'<script id="stage-answer" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert answer is not None, text[:300]
    return json.loads(answer[1])["session"]  # type: ignore[no-any-return]


def watch(teacher: Browser, course: str, stop: threading.Event) -> list[float]:
    """Asks for the grid as the teacher's page does. Seconds of each answer."""
    seconds = []
    while not stop.wait(LOOK_S):
        began = time.perf_counter()
        teacher.get(f"{course}grid/?chapter={CHAPTER}")
        seconds.append(time.perf_counter() - began)
    return seconds


def ask(browser: Browser, questions: Iterator[dict[str, Any]], stop: threading.Event) -> int:
    answered = 0
    for question in questions:
        asked = browser.json("/lab/questions/", question)
        while asked["state"] != "done":
            if stop.wait(asked["again_s"]):
                return answered
            asked = json.loads(browser.get(f"/lab/questions/{asked['id']}/"))
        answered += 1
        if stop.is_set():
            break
    return answered


def unasked() -> Iterator[dict[str, Any]]:
    """Different questions: clauses, versions, set-ups, first rows. There are 7,112, enough for a class."""
    lock = threading.Lock()
    sets = [found for size in range(1, len(CLAUSES) + 1) for found in itertools.combinations(CLAUSES, size)]
    every = iter(itertools.product(sets, VERSIONS, ASKED_SETUPS, (False, True)))

    def following() -> dict[str, Any]:
        with lock:
            found = next(every, None)
        assert found is not None, "every question has been asked"
        clauses, versions, setup, any_rows = found
        session = {"setup": setup, "parameters": {}, "left_out": [], "steps": []}
        return {"session": session, "goal": {"clauses": clauses, "versions": versions}, "any_rows": any_rows}

    return iter(following, None)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


if __name__ == "__main__":
    from tests.harness.cluster import running_cluster

    with running_cluster() as cluster:
        for one in measure(cluster):
            print(one.what, one.seen, one.method, sep="\n")
