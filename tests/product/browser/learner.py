"""A learner who does a chapter: reads each screen, does what its solution says by the page's own controls, goes on. A
*live* screen is only read, and named in `left`. The machine's offers say what a step is called on the stage."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace

from playwright.sync_api import Frame, FrameLocator, Locator, Page, expect

from lab.exercises.chapter import Design, Explain, Live, Predict, Reach, Screen, Start, Survive
from lab.exercises.grading import right_answer
from lab.exercises.observations import session_of
from lab.exercises.shelf import Book
from lab.sessions.replay import show
from lab.sessions.short_steps import in_full

PLAYED = """addEventListener("stage", (event) => {
  const { session, at } = event.detail;
  document.documentElement.dataset.played = JSON.stringify(session.steps.slice(0, at));
})"""
"""The page writes down what the stage tells it, so that a click can be waited for."""

WORDS = """(() => {
  const body = document.querySelector("main").cloneNode(true);
  for (const one of body.querySelectorAll("code, textarea, script, noscript, .facts, .crumbs a")) one.remove();
  return [...body.querySelectorAll("*")].flatMap((one) => [...one.childNodes])
    .filter((one) => one.nodeType === Node.TEXT_NODE).map((one) => one.textContent.trim());
})()"""
"""The texts of a page, without what is code or the title of somebody's paper."""

ENGLISH = re.compile(r"[A-Za-z]{2,}(?: [a-z]{2,}){2,}")
"""Three words in a row, the last two not names."""

OF_POSTGRESQL = re.compile(r"ALTER TABLE [^;；]+|\b\d{5}：.*")
"""A statement, and what PostgreSQL says of an error: the same in every language."""

JUDGED_MS_MAX, LOOK_MS_MAX = 150_000, 30_000


def open_menu(page: Page | FrameLocator | Frame) -> None:
    """Language and colours stand in a menu where a page is narrow."""
    if page.locator(".menu-button").is_visible() and not page.locator("#menu").is_visible():
        page.locator(".menu-button").click()


@dataclass
class Learner:
    """Somebody at a page, who reads one language."""

    page: Page
    address: str
    language: str = "en"
    left: list[str] = field(default_factory=list)
    """What was not done here, and why."""

    english: set[str] = field(default_factory=set)
    """English prose that was met where another language is read."""

    def __post_init__(self) -> None:
        self.page.add_init_script(PLAYED)
        self.page.goto(f"{self.address}/lab/")
        if self.language != "en":
            open_menu(self.page)
            self.page.locator("#language").select_option(self.language)
            expect(self.page.locator("html")).to_have_attribute("data-language", self.language, timeout=LOOK_MS_MAX)

    def does(self, book: Book) -> None:
        """A whole chapter, from the list of chapters to its end."""
        assert book.chapter is not None
        self.page.goto(f"{self.address}/lab/")
        self.page.locator(f'h4 a[href$="/{book.folder}/"]').click()
        for screen in book.chapter.screens:
            title = book.text(self.language, f"{screen.id}.title")
            expect(self.page.locator("#screen-title")).to_have_text(title, timeout=LOOK_MS_MAX)
            self._reads()
            self._acts(screen)
            self._reads()
            if screen != book.chapter.screens[-1]:
                self.page.locator("[data-next]").click()

    def does_one(self, book: Book, screen: Screen) -> None:
        """One screen, as a visitor who has done nothing yet: solutions of predictions before it are asked for."""
        self.page.context.clear_cookies(name="sessionid")
        assert book.chapter is not None
        chapter = f"{self.address}/lab/chapters/{book.folder}"
        for before in book.chapter.screens[: book.chapter.screens.index(screen)]:
            if isinstance(before.task, Predict):
                self.page.goto(f"{chapter}/{before.id}/")
                show = self.page.locator('.task form[action*="/solution/"] button')
                if show.count():
                    show.click()
                    expect(show).to_have_count(0, timeout=LOOK_MS_MAX)
        self.page.goto(f"{chapter}/{screen.id}/")
        expect(self.page.locator("#screen-title")).to_have_text(book.text(self.language, f"{screen.id}.title"))
        self._reads()
        self._acts(screen)
        self._reads()

    def done(self, book: Book) -> str:
        """What the list of chapters says of it."""
        self.page.goto(f"{self.address}/lab/")
        card = self.page.locator("li.card", has=self.page.locator(f'h4 a[href$="/{book.folder}/"]'))
        return card.locator(".small.muted span").first.inner_text()

    def _reads(self) -> None:
        if self.language != "en":
            self.english |= {text for text in self.page.evaluate(WORDS) if ENGLISH.search(OF_POSTGRESQL.sub("", text))}

    def _acts(self, screen: Screen) -> None:
        match screen.task:
            case None if screen.do:
                assert screen.start is not None
                self._takes(screen.start, screen.do)
                expect(self.page.locator("[data-next]")).to_have_class(re.compile(r"\bfirst\b"), timeout=LOOK_MS_MAX)
            case Predict() as task:
                self._predicts(task, screen.start)
                self._is_right(screen)
                self._was_played()
            case Reach() as task:
                assert screen.start is not None
                self._takes(screen.start, task.solution)
                self._is_right(screen)  # the page notices by itself
            case Explain() as task:
                for name, value in (("clause", task.clause), ("step", str(task.step)), ("rule", task.missing)):
                    self.page.locator(f'input[name={name}][value="{value}"]').check()
                self._sends()
                self._is_right(screen)
                self._was_played()
            case Design() as task:
                self._designs(task)
                self._sends()
                self._is_right(screen)
                self._was_played()
            case Survive() as task:
                for used, move in enumerate(task.solution, 1):
                    self.page.locator(f'.moves button[value="{move}"]').click()
                    if used < len(task.solution):
                        made = json.dumps(task.solution[:used])
                        expect(self.page.locator("input[name=moves]")).to_have_value(made, timeout=LOOK_MS_MAX)
                self._is_right(screen)
            case Live() as task:
                asked = self.page.locator(".task li").all_inner_texts()
                assert len(asked) == len(task.asks)
                why = "it is done on the cluster by whoever may submit changes, and takes killed nodes or a minute"
                self.left += [f"{screen.id}: {' '.join(one.split())} ({why})" for one in asked]

    def _takes(self, start: Start, steps: tuple[str, ...]) -> None:
        """By the buttons of the stage; a statement is one where the stage offers it as one."""
        taken, ahead = start.steps, in_full(steps)
        while ahead:
            session = session_of(replace(start, steps=taken))
            shown = show(session, single_steps=start.single_steps)
            offers = [one for one in shown.offers if one.takes and ahead[: len(one.takes)] == one.takes]
            assert offers, f"nothing is offered that takes {ahead[0]}"
            offer = max(offers, key=lambda one: len(one.takes))
            assert not offer.why_not, f"{offer.id}: {offer.why_not}"
            self.page.locator(f'.step[data-offer="{offer.id}"]').click()
            taken, ahead = (*taken, *offer.takes), ahead[len(offer.takes) :]
            played = json.dumps(taken, separators=(",", ":"))
            expect(self.page.locator("html")).to_have_attribute("data-played", played, timeout=LOOK_MS_MAX)

    def _predicts(self, task: Predict, start: Start | None) -> None:
        right = right_answer(task, start)
        match task.form.value:
            case "choice":
                self.page.locator(f'input[name=choice][value="{right}"]').check()
            case "pairs":
                assert isinstance(right, frozenset)
                for pair in right:
                    self.page.locator(f'input[name=pairs][value="{pair}"]').check()
            case "order":
                assert isinstance(right, tuple)
                for one in right:
                    self.page.locator(f'.tray .tile[data-value="{one}"]').first.click()
            case "match":
                assert isinstance(right, dict)
                for item, choice in right.items():
                    self.page.locator(f'select[name="match-{item}"]').select_option(choice)
            case form:
                self.page.locator(f"input[name={form}]").fill(str(right))
        self._sends()

    def _designs(self, task: Design) -> None:
        for line in task.solution[task.grammar == "states" :]:  # the first version is the ground
            self.page.locator(f'.tray .tile[data-value="{line}"]').first.click()

    def _sends(self) -> None:
        self.page.locator("form[data-answer] .task-send button").click()

    def _was_played(self) -> None:
        """The answer is a run, on the stage, beside the ladder or on a clock, and not words alone."""
        expect(self.page.locator("#stage[data-play], .ladder-player, .clock-run").first).to_be_visible(
            timeout=LOOK_MS_MAX
        )

    def _is_right(self, screen: Screen) -> None:
        outcome: Locator = self.page.locator("#outcome, .note[role=alert]")
        expect(outcome).to_have_class(re.compile(r"\bok\b"), timeout=JUDGED_MS_MAX)
        expect(self.page.locator(".task details.after")).to_have_attribute("open", "")
