"""The picture of a window: bars, hatches, marks, waits, curves and sentences, each at its place. x is in hundredths of
the width, y and heights in em."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

from leases.staircase import plots
from leases.staircase.axis import WIDTH, Axis, axis
from leases.staircase.facts import FALLS, RISES, Facts, Json, Mark, Version, Walk
from leases.staircase.lanes import Bar, Lane, Look, counts, falls, lanes, looks, uses_by_node
from leases.staircase.stops import stops
from leases.staircase.waits import last_to_leave, without_passing_jobs

LETTER = 0.85
"""A letter is about so wide, in hundredths of the picture."""
FLAG_LETTER = 1.1
"""A letter of a flag where the picture is narrowest."""
GLYPH_LETTERS = 3
FLAG_ROWS = 4
FLAG, BAR, PAD, COUNT, TEXT = 1.7, 1.7, 0.5, 2.4, 1.2
RISE_LEAST, RISE_MOST, STEP = 1.3, 6.0, 0.6
MARK = 1.2
"""Lanes have so much room above their bars where something happened to a node: for the words of it."""
LANES = 20.0
"""All lanes together are not higher than this, as long as each can rise a little: three fill a projector."""
TICK_LETTER = 1.2
"""A letter of a time below the axis, with its share of the room to the next, where the picture is narrowest."""
BRIEF_S = 3.0
"""Times of a shorter window have milliseconds."""
STATE_LETTERS, FILLING_LETTERS = 13, 26
"""Of a state in words; of the longest, which says its phase, too."""
LENGTH_LETTERS = 7
WAIT_S_LEAST, WAIT_LETTERS = 1.0, 18
NODES_SHOWN_APART = 8
HEARTBEAT_LATE_S = 5.0


def picture(facts: Facts) -> Json:
    """Everything that is drawn; nothing without a table."""
    everybody = facts.walks
    facts = replace(_news_only(facts), walks=tuple(without_passing_jobs(walk, facts.end) for walk in everybody))
    scale = axis(_moments(facts), start=facts.start, end=facts.end)
    tables = [_table(*walks, facts.marks, scale) for walks in zip(facts.walks, everybody, strict=True)]
    works = [_work(facts, scale, number) for number in range(len(facts.works))]
    busy = [*works, *(hold for table in tables for lane in table["lanes"] for hold in lane["holds"])]
    # stretches that are drawn narrower, with lengths where there is room; folded where nothing happens
    free, half = 0.0, LENGTH_LETTERS * LETTER / 2
    folds: list[Json] = []
    for one in scale.folds():
        middle = round(one.x + one.width / 2, 2)
        is_named = middle - half >= free and middle + half <= WIDTH
        free = middle + half if is_named else free
        is_idle = all(of["x"] + of["width"] <= one.x or of["x"] >= one.x + one.width for of in busy)
        folds.append(asdict(one) | {"middle": middle, "is_named": is_named, "is_idle": is_idle})
    return {
        "is_live": facts.is_live,
        "is_partial": facts.is_partial,
        "start": iso(facts.start),
        "end": iso(facts.end),
        "tables": tables,
        "folds": folds,
        "ticks": _ticks(facts, scale),
        "works": works,
        "rates": asdict(plots.plot(facts.seconds, scale, (plots.rate,))),
        "latencies": asdict(plots.plot(facts.seconds, scale, (plots.p50, plots.p99))),
        "figures": plots.sentence(facts.seconds, facts.works),
        "beside": _beside(facts) if len(facts.works) == 1 else None,
        "seconds": [asdict(one) | {"at": iso(one.at)} for one in plots.rows(facts.seconds)],
        "stops": [asdict(one) | {"at": iso(one.at)} for one in stops(facts, scale)],
    }


def _beside(facts: Facts) -> Json:
    return asdict(plots.beside(facts.seconds, facts.works[0], facts.calm_since))


def iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


def _news_only(facts: Facts) -> Facts:
    """Without redundant marks: a killed node is silent, and joining brings it back."""
    down: set[str] = set()
    kept: list[Mark] = []
    marks = sorted(facts.marks, key=lambda mark: mark.at)
    for number, mark in enumerate(marks):
        if (mark.kind == "silent" and mark.node in down) or (mark.kind == "back" and mark.node not in down):
            continue
        if mark.kind == "silent" and any(_explains(later, mark) for later in marks[number + 1 :]):
            continue
        if mark.kind in FALLS:
            down.add(mark.node)
        elif mark.kind in RISES:
            down.discard(mark.node)
        kept.append(mark)
    return replace(facts, marks=tuple(kept))


def _explains(fall: Mark, silence: Mark) -> bool:
    """The node fell soon after its last heartbeat, from which on it is called silent."""
    return fall.node == silence.node and fall.kind in FALLS - {"silent"} and fall.at - silence.at < HEARTBEAT_LATE_S


def _moments(facts: Facts) -> Iterable[float]:
    """The moments that the axis makes room for; of many nodes at a version the first and the last."""
    for work in facts.works:
        yield from (moment for moment in (work.began, work.ended) if moment is not None)
    yield from (mark.at for mark in facts.marks)
    for walk in facts.walks:
        yield from (version.published_at for version in walk.versions)
        for version in walk.versions:
            uses = [use for use in walk.uses if use.version == version.version]
            for moments in ([use.began for use in uses], [use.ended for use in uses if use.ended is not None]):
                within = sorted(moment for moment in moments if facts.start < moment < facts.end)
                yield from within if len(within) <= NODES_SHOWN_APART else (within[0], within[-1])


def _table(walk: Walk, every: Walk, marks: Sequence[Mark], scale: Axis) -> Json:
    """A table's lanes; sums are of `every` node."""
    marks = [mark for mark in marks if mark.concerns({walk.table_id})]
    shown_as = looks(walk)
    flags = _flags(walk.versions, shown_as, scale)
    drawn, waits = lanes(walk, marks, scale), _waits(walk, scale)
    head = MARK if any(lane.marks for lane in drawn) else 0.0
    room = LANES / max(len(drawn), 1) - head - BAR - 2 * PAD
    rise = max(min(STEP * (len(walk.versions) - 1), RISE_MOST, room), RISE_LEAST)
    top = round(FLAG * (1 + max((flag["row"] for flag in flags), default=-1)) + PAD, 2)
    counted, y = [], top
    for count in counts(walk, scale):
        slices = [asdict(one) | {"height": round(COUNT * one.share, 2)} for one in count.slices]
        for one in slices:
            one["y"] = round(y + COUNT - one["height"], 2)
        counted.append(asdict(count) | {"slices": slices, "text_y": round(y + TEXT, 2)})
        y = round(y + COUNT + PAD, 2)
    shown = []
    height = round(head + rise + BAR + 2 * PAD, 2)
    for lane in drawn:
        holds = [wait for wait in waits if wait["node"] == lane.node]
        shown.append(_lane(lane, y, head, rise, len(walk.versions), holds))
        y = round(y + height, 2)
    return {
        "id": walk.table_id,
        "name": walk.name,
        "has_leases": walk.has_leases,
        "flags": flags,
        "legend": _legend(walk, shown_as),
        "counts": counted,
        "lanes": shown,
        "top": top,
        "lane_height": height,
        "height": y,
        "summary": _summary(every, marks, scale.times[-1]) | _way(walk),
        "twin": _twin(walk, [lane["node"] for lane in shown]),
    }


def _waits(walk: Walk, scale: Axis) -> list[Json]:
    """The waits of a second or more, each in the bar of the node that left last."""
    end, steps = scale.times[-1], {one.version: step for step, one in enumerate(walk.versions)}
    found: list[Json] = []
    for newer in walk.versions[1:]:
        since = newer.published_at
        last = last_to_leave(walk.uses, version=newer.version, since=since)
        if last is None or last.version not in steps or since < scale.times[0]:
            continue
        left = end if last.ended is None else min(last.ended, end)
        if left - since >= WAIT_S_LEAST:
            x = scale.place(since)
            width = round(scale.place(left) - x, 2)
            found.append(
                {
                    "node": last.node,
                    "step": steps[last.version],
                    "x": x,
                    "width": width,
                    "seconds": round(left - since, 3),
                    "is_over": last.ended is not None and last.ended <= end,
                    "label": width / LETTER >= WAIT_LETTERS + len(last.node),
                }
            )
    return found


def _lane(lane: Lane, y: float, head: float, rise: float, versions: int, holds: Sequence[Json]) -> Json:
    """Bars climb from the lower edge, the oldest version, to `head` below the upper."""
    step = rise / max(versions - 1, 1)

    def at(number: int) -> float:
        return round(y + head + PAD + rise - number * step, 2)

    def is_down(hold: Json) -> bool:
        """The words of a node that does not answer stand there."""
        return any(gap.step == hold["step"] and gap.x + gap.width > hold["x"] for gap in lane.gaps)

    following = [*(mark.x for mark in lane.marks[1:]), WIDTH][: len(lane.marks)]
    return {
        "node": lane.node,
        "y": y,
        "text_y": round(y + TEXT, 2),
        "bars": [
            asdict(bar) | {"y": at(bar.step), "label": _label(bar, room)}
            for bar, room in zip(lane.bars, _rooms(lane, step, holds), strict=True)
        ],
        "holds": [hold | {"y": at(hold["step"]), "label": hold["label"] and not is_down(hold)} for hold in holds],
        "gaps": [
            asdict(gap)
            | {
                "y": at(gap.step),
                "until": iso(gap.until),
                "label": "long" if gap.width / LETTER >= 34 else "short" if gap.width / LETTER >= 16 else "",
            }
            for gap in lane.gaps
        ],
        "marks": [
            asdict(mark) | {"at": iso(mark.at), "is_named": after - mark.x > LETTER * (len(mark.kind) + 4)}
            for mark, after in zip(lane.marks, following, strict=True)
        ],
    }


def _rooms(lane: Lane, step: float, holds: Sequence[Json]) -> list[float]:
    """The widths for words in bars, up to the next bar, a dead node's hatch or a wait."""
    covers = [*((gap.step, gap.x) for gap in lane.gaps), *((hold["step"], hold["x"]) for hold in holds)]
    following = [*lane.bars[1:], None]
    covered = [
        bar.width if later is None or (later.step - bar.step) * step >= BAR else min(bar.width, later.x - bar.x)
        for bar, later in zip(lane.bars, following, strict=True)
    ]
    return [
        min([room, *(x - bar.x for step_of, x in covers if step_of == bar.step and x >= bar.x)])
        for bar, room in zip(lane.bars, covered, strict=True)
    ]


def _label(bar: Bar, room: float) -> str:
    letters = room / LETTER
    short = len(f"v{bar.version}") + 1
    return "long" if letters >= short + _letters(bar) else "short" if letters >= short else ""


def _letters(look: Look | Bar) -> int:
    """The words for a look: a state of one of several elements is named with its element."""
    words = FILLING_LETTERS if look.phase == "reorganising" else STATE_LETTERS
    return words + (len(look.of) + 1 if look.of else 0)


def _flags(versions: Sequence[Version], shown_as: Mapping[int, Look], scale: Axis) -> list[Json]:
    """The published versions, each in the lowest row with room for its words, for its number, or for nothing. Words
    that would leave the picture stand before their line."""
    free = [0.0] * FLAG_ROWS
    flags = []
    for version in versions:
        if version.published_at <= scale.times[0]:
            continue
        x, short = scale.place(version.published_at), len(f"v{version.version}") + GLYPH_LETTERS
        row, label, left, right, look = 0, "", x, x, shown_as[version.version]
        for words, letters in (("long", short + _letters(look)), ("short", short)):
            width = letters * FLAG_LETTER
            begins = x - width if x + width > WIDTH else x
            found = next((number for number in range(FLAG_ROWS) if free[number] <= begins), None)
            if found is not None:
                row, label, left, right = found, words, begins, begins + width
                free[row] = right
                break
        flags.append(
            {
                "x": x,
                "row": row,
                "y": round(row * FLAG, 2),
                "version": version.version,
                "phase": look.phase,
                "of": look.of,
                "at": iso(version.published_at),
                "label": label,
                "is_before": left < x,
                "span": (round(left, 2), round(right, 2)),
            }
        )
    return flags


def _ticks(facts: Facts, scale: Axis) -> list[Json]:
    """Times below the axis where there is room: the window's ends, ends of folds, publishes; never overlapping or
    equal."""
    folds = [time for left, time in zip(scale.times, scale.times[1:], strict=False) if time - left >= 1]
    wanted = [facts.start, facts.end, *folds, *(one.published_at for walk in facts.walks for one in walk.versions)]
    exact = "milliseconds" if facts.end - facts.start < BRIEF_S else "seconds"
    shown: list[tuple[float, float, Json]] = []
    for time in wanted:
        if not facts.start <= time <= facts.end:
            continue
        x, text = scale.place(time), datetime.fromtimestamp(time, UTC).time().isoformat(exact)
        anchor, part = ("start", 0.0) if time == facts.start else ("end", 1.0) if time == facts.end else ("middle", 0.5)
        width = len(text) * TICK_LETTER
        left = x - part * width
        if all((left > to or left + width < from_) and text != one["text"] for from_, to, one in shown):
            shown.append((left, left + width, {"x": x, "text": text, "anchor": anchor}))
    return [one for _, _, one in sorted(shown, key=itemgetter(0))]


def _work(facts: Facts, scale: Axis, number: int) -> Json:
    work = facts.works[number]
    ended = facts.end if work.ended is None else work.ended
    x = scale.place(work.began)
    return {"change": work.change, "status": work.status, "x": x, "width": round(max(scale.place(ended) - x, 0.2), 2)}


def _summary(walk: Walk, marks: Sequence[Mark], end: float) -> Json:
    """The lanes in a sentence: versions at once, and the longest wait."""
    waits = []
    for newer in walk.versions[1:]:
        last = last_to_leave(walk.uses, version=newer.version, since=newer.published_at)
        if last is not None:
            left, is_over = end if last.ended is None else last.ended, last.ended is not None and last.ended <= end
            waits.append((left - newer.published_at, last.node, last.version, newer.published_at, is_over))
    wait, is_fallen = None, False
    if waits:
        length, node, version, since, is_over = max(waits)
        wait = {"seconds": round(length, 3), "node": node, "version": version, "is_over": is_over}
        is_fallen = any(fell < since + length and rose > since for fell, rose, _ in falls(marks, end).get(node, ()))
    return {
        "at_once": most_at_once(walk),
        "wait": wait,
        "is_fallen": is_fallen,
    }


def _way(walk: Walk) -> Json:
    """The number and way of nodes that were waited for; else of the last users."""
    used = {node: {use.version for use in uses} for node, uses in uses_by_node(walk).items()}
    last = max((version for versions in used.values() for version in versions), default=None)
    went = [versions for versions in used.values() if len(versions) > 1]
    if not went:
        return {"first": last, "last": last, "nodes": sum(last in versions for versions in used.values())}
    return {"first": min(map(min, went)), "last": max(map(max, went)), "nodes": len(went)}


def most_at_once(walk: Walk) -> int:
    """The most versions in use at one time (L2 allows two)."""
    edges = sorted(
        [(use.began, 1, use.version) for use in walk.uses]
        + [(use.ended, 0, use.version) for use in walk.uses if use.ended is not None]
    )
    using: dict[int, int] = {}
    most = 0
    for _, begins, version in edges:
        using[version] = using.get(version, 0) + (1 if begins else -1)
        most = max(most, sum(count > 0 for count in using.values()))
    return most


def _legend(walk: Walk, shown_as: Mapping[int, Look]) -> list[Json]:
    if not any(look.of for look in shown_as.values()):
        return []
    alike = [(look, list(of)) for look, of in groupby(shown_as, key=lambda version: shown_as[version])]
    return [{"first": of[0], "last": of[-1], "phase": look.phase, "of": look.of} for look, of in alike]


def _twin(walk: Walk, shown: Sequence[str]) -> Json:
    """The lanes as a table: nodes by versions."""
    by_node = uses_by_node(walk)
    return {
        "versions": [asdict(one) | {"published_at": iso(one.published_at)} for one in walk.versions],
        "rows": [
            {
                "node": node,
                "cells": [
                    [
                        {
                            "began": iso(use.began),
                            "ended": None if use.ended is None else iso(use.ended),
                            "ran_out": use.ran_out,
                        }
                        for use in uses
                        if use.version == version.version
                    ]
                    for version in walk.versions
                ],
            }
            for node, uses in ((node, by_node[node]) for node in shown)
        ],
    }
