"""The pictures of README and docs, from a running product: `make run` in one terminal, `make screenshots` in another. A
scripted story on the demo's table, beside traffic: n3 blocks an index by an open transaction, n2 is killed, n3 commits,
the lease of n2 expires, n2 is started again, the index is public and is dropped. The browser encodes the pictures
(WebP); all together may have `BYTES_MAX`."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from playwright.sync_api import Browser, BrowserContext, Locator, Page, sync_playwright

from tests.pictures.webp import animation

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "images"
CHROMIUM = Path("/usr/bin/chromium")
BYTES_MAX = 1_500_000
QUALITY, QUALITY_OF_FRAMES = 0.85, 0.45
WIDTH, HEIGHT = 1280, 860
FRAME_WIDTH, FRAME_HEIGHT = 1100, 720
FRAME_MS, LAST_FRAME_MS = 1400, 4000
STEP_S_MAX = 900.0
"""A fill gives way to traffic, and a small machine has little to give."""
LOOK_EVERY_S = 0.5
TRAFFIC_BEFORE_S = 15.0
"""What statements took during the change is compared with the seconds before it."""

AFTERWARDS_S = 10.0
"""The picture of a change goes on for some seconds, in which its last version is used."""

TABLE = "flights"
INDEX = "flights_by_dest"
STATEMENT = f"CREATE INDEX {INDEX} ON {TABLE} (dest)"
HELD, KILLED = "n3", "n2"
ORPHAN = "one-jump"

ENCODE = """async ([png, quality]) => {
  const bytes = Uint8Array.from(atob(png), (one) => one.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvas.getContext("2d", { alpha: false }).drawImage(picture, 0, 0);
  const blob = await canvas.convertToBlob({ type: "image/webp", quality });
  const found = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (const one of found) text += String.fromCharCode(one);
  return btoa(text);
}"""
ONLY_THE_PICTURE = """
.bar, footer.page, .toasts, .first-visit, .transport, .tabs, [data-part=remedy], [data-part=spark], [data-part=load]
{ display: none !important; }
main { padding-top: .5rem !important; }
"""
"""The sentence, the steps, the cluster and its lanes, and nothing else: a picture that moves is small."""
ONLY_THE_WAY = """
.bar, footer.page, .toasts, .crumbs, .columns > :not([data-part]), [data-part="change"] .stack > :not(.head),
#over-time :is([data-present], .look-back, .twins, .beside, figure:has([data-plot])), #over-time > p
{ display: none !important; }
main { padding-top: .5rem !important; } .head { min-height: 4rem; }
"""
"""Of the page of the change, when it is done: its status, and each node's way."""


SAYING = "[data-part=headline] h1, [data-steps] .now, [data-scene] :is(.fell, .label-pill text)"
WORDS = """said => [...document.querySelectorAll(said)]
  .filter((one) => getComputedStyle(one).visibility === 'visible').map((one) => one.textContent).join(' ')"""


class NoPicture(RuntimeError):
    """The story did not go as written; says where."""


class Camera:
    """Takes pictures of pages, and has the browser encode them."""

    def __init__(self, browser: Browser) -> None:
        self.darkroom = browser.new_page()
        self.sizes: dict[str, int] = {}

    def encoded(self, png: bytes, quality: float) -> bytes:
        found: str = self.darkroom.evaluate(ENCODE, [base64.b64encode(png).decode(), quality])
        return base64.b64decode(found)

    def keep(self, name: str, webp: bytes) -> None:
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / f"{name}.webp").write_bytes(webp)
        self.sizes[name] = len(webp)
        print(f"docs/images/{name}.webp: {len(webp) / 1000:.0f} kB", flush=True)

    def both_themes(self, page: Page, name: str, what: Locator | None = None) -> None:
        """Keeps what is in sight, or a part of the page, in light and in dark."""
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            page.wait_for_timeout(300)
            png = page.screenshot() if what is None else what.screenshot()
            self.keep(name if theme == "light" else f"{name}-dark", self.encoded(png, QUALITY))
        page.emulate_media(color_scheme="light")


class Film:
    """The cluster while the story goes on: a frame is kept when more than numbers differs, or a quarter of the rows."""

    def __init__(self, camera: Camera, context: BrowserContext, address: str) -> None:
        self.camera, self.frames, self.last = camera, list[tuple[bytes, int]](), ""
        self.page = context.new_page()
        self.page.set_viewport_size({"width": FRAME_WIDTH, "height": FRAME_HEIGHT})
        self.page.goto(address)
        self.page.wait_for_selector("[data-live=live]")
        self.page.add_style_tag(content=ONLY_THE_PICTURE)

    def words(self) -> str:
        """The words that make a moment: the sentence, the step, the work, and nodes that are down."""
        found: str = self.page.evaluate(WORDS, SAYING)
        return found

    def shoot(self) -> None:
        words = self.words()
        quarters = [int(percent) // 25 for percent in re.findall(r"(\d+) %", words)]
        seen = f"{re.sub(r'[0-9.,:]+', '', words)}{quarters}"
        if seen == self.last or not self.page.locator("[data-picture][data-drawn]").count():
            return
        self.last = seen
        self.frames.append((self.camera.encoded(self.page.screenshot(), QUALITY_OF_FRAMES), FRAME_MS))

    def end_with(self, change: str) -> None:
        """The last frame: the change is done, and every node has come to its last version."""
        self.page.goto(change)
        self.page.wait_for_selector(".outcome[data-outcome=done]")
        self.page.wait_for_selector("#over-time [data-lanes] svg")
        self.page.add_style_tag(content=ONLY_THE_WAY)
        self.page.wait_for_timeout(300)
        self.frames.append((self.camera.encoded(self.page.screenshot(), QUALITY_OF_FRAMES), FRAME_MS))

    def developed(self) -> bytes:
        *others, (last, _) = self.frames
        return animation([*others, (last, LAST_FRAME_MS)], width=FRAME_WIDTH, height=FRAME_HEIGHT)


class Story:
    """Acts of somebody in the browser, one thing after the other."""

    def __init__(self, page: Page, address: str, film: Film) -> None:
        self.page, self.address, self.film = page, address, film

    def go(self, path: str) -> None:
        self.page.goto(f"{self.address}{path}")
        self.page.wait_for_selector("h1")

    def until(self, what: str, is_so: Callable[[], bool]) -> None:
        """Waits, and films meanwhile. Raises `NoPicture`."""
        deadline = time.monotonic() + STEP_S_MAX
        while not is_so():
            if time.monotonic() > deadline:
                raise NoPicture(f"after {STEP_S_MAX:.0f} s still not so: {what}")
            self.film.shoot()
            self.page.wait_for_timeout(LOOK_EVERY_S * 1000)
        self.film.shoot()

    def run(self, sql: str) -> None:
        """In the console, on the node that is held."""
        self.go(f"/console/?node={HELD}&sql={quote(sql)}")
        with self.page.expect_response("**/console/1/run/"):
            self.page.get_by_role("button", name="Run", exact=True).click()

    def submit(self, statement: str) -> None:
        self.go(f"/changes/new/?statement={quote(statement)}")
        self.page.get_by_role("button", name="Submit").click()
        self.page.wait_for_url(re.compile(r"/changes/\d+/"))

    def control(self, command: str, name: str) -> None:
        self.go(f"/processes/{name}/{command}/")
        self.page.locator("main form button.first, main form button.danger").first.click()
        self.page.wait_for_load_state("networkidle")

    def says(self, text: str) -> Callable[[], bool]:
        return lambda: text in self.film.words()


def main() -> int:
    link = sign_in_link()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        look: dict[str, Any] = {"bypass_csp": True, "locale": "en", "reduced_motion": "reduce"}
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, **look)
        page = context.new_page()
        page.goto(link)
        address = page.url.rstrip("/")
        camera = Camera(browser)
        _put_the_card_away(page)
        _play(camera, page, Film(camera, context, address), address)
        _stage(camera, page, address)
        browser.close()
    total = sum(path.stat().st_size for path in IMAGES.iterdir())
    print(f"docs/images: {total / 1000:.0f} kB in all, {BYTES_MAX / 1000:.0f} kB at most")
    return 0 if total <= BYTES_MAX else 1


def sign_in_link(name: str = "") -> str:
    """A link that signs in, the owner or somebody else, from the cluster that runs here. Raises `NoPicture`."""
    command = [sys.executable, "manage.py", "signin-link", *(["--user", name] if name else [])]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.search(r"http\S+/sign-in/\S+", asked.stdout)
    if found is None:
        raise NoPicture(f"no cluster runs here: start one with `make run` ({asked.stderr.strip()})")
    return found[0]


def _put_the_card_away(page: Page) -> None:
    away = page.get_by_role("button", name="Put this card away")
    if away.count():
        away.click()


def _play(camera: Camera, page: Page, film: Film, address: str) -> None:
    story = Story(page, address, film)
    _begin_anew(story)
    story.go("/traffic/")
    if page.get_by_role("link", name="Stop…").count() == 0:
        page.locator("form[action$='/traffic/start/'] button").click()
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(TRAFFIC_BEFORE_S * 1000)
    story.run("ROLLBACK")
    story.run(f"BEGIN; SELECT * FROM {TABLE} WHERE id = 1;")
    story.submit(STATEMENT)
    change = page.url
    story.until("n3 blocks the change", story.says(f"The publisher waits for {HELD}"))
    story.control("kill", KILLED)
    story.until("n2 is seen to be dead", story.says("killed"))
    story.run("COMMIT")
    is_filled, is_public = story.says("fill:"), story.says("No change is running")
    story.until("the lease of n2 has run out", lambda: is_filled() or is_public())
    story.control("start", KILLED)
    story.until("n2 is back", lambda: not story.says("killed")())
    story.until("the index is public", is_public)
    page.wait_for_timeout(AFTERWARDS_S * 1000)
    film.end_with(change)
    camera.keep("lanes", film.developed())
    page.goto(change)
    page.wait_for_selector("#over-time [data-lanes] svg")
    camera.both_themes(page, "over-time", page.locator("#over-time"))
    story.submit(f"DROP INDEX {INDEX}")


def _begin_anew(story: Story) -> None:
    """As a story that broke off may have left it: the node is started, the index dropped."""
    story.until("no change is running", story.says("No change is running"))
    if story.says("killed")():
        story.control("start", KILLED)
    story.go(f"/tables/named/?name={TABLE}")
    if INDEX in story.page.locator("[data-part=schema] table").first.inner_text():
        story.submit(f"DROP INDEX {INDEX}")
        story.until("the change has begun", lambda: not story.says("No change is running")())
        story.until("the index is dropped", story.says("No change is running"))
    story.film.frames.clear()


def _stage(camera: Camera, page: Page, address: str) -> None:
    """The orphan on the stage: two servers, an insert and a delete."""
    page.goto(f"{address}/lab/stage/?setup={ORPHAN}")
    page.get_by_role("link", name="Open in free play").click()
    page.wait_for_selector(".steps .step")
    page.locator(".steps .step", has_text="insert row 1 with a = 1").last.click()
    page.wait_for_timeout(500)
    page.locator(".steps .step", has_text="delete row 1").first.click()
    page.wait_for_timeout(800)
    camera.both_themes(page, "stage")


if __name__ == "__main__":
    sys.exit(main())
