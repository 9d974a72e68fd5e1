"""A plan of before had a step "clear" in front of its "fill", which clears by itself: the two become one step.

    before   .. 4 drain   5 clear   6 fill   7 verify ..      after   .. 4 drain   5 fill   6 verify ..

A change that is at either is at its fill afterwards. Each change in a transaction of its own: may be run again.
"""

from django.db import migrations, transaction

FORWARD = "forward"


def merge(apps, schema_editor):
    changes = apps.get_model("changes", "Change").objects
    for key in list(changes.filter(plan__forward__contains=[{"kind": "clear"}]).values_list("pk", flat=True)):
        with transaction.atomic():
            change = changes.select_for_update().get(pk=key)
            for number in reversed(_numbers(change, "clear")):
                _merge_rows(change, number)
                _leave_out(change, number)
            change.save(update_fields=["plan", "executor_state", "step"])
    apps.get_model("changes", "Proof").objects.filter(plan__forward__contains=[{"kind": "clear"}]).delete()


def split(apps, schema_editor):
    changes = apps.get_model("changes", "Change").objects
    for key in list(changes.filter(plan__forward__contains=[{"kind": "fill"}]).values_list("pk", flat=True)):
        with transaction.atomic():
            change = changes.select_for_update().get(pk=key)
            if not _numbers(change, "clear"):
                for number in reversed(_numbers(change, "fill")):
                    _split_rows(change, number)
                    _put_in(change, number)
                change.save(update_fields=["plan", "executor_state", "step"])


def _numbers(change, kind):
    return [number for number, step in enumerate(change.plan["forward"]) if step["kind"] == kind]


def _leave_out(change, number):
    """The step `number` of the plan; whatever counts steps counts one less behind it."""
    del change.plan["forward"][number]
    _shift(change, -1, beyond=number)


def _put_in(change, number):
    fill = change.plan["forward"][number]
    change.plan["forward"].insert(number, fill | {"kind": "clear"})
    _shift(change, 1, beyond=number)


def _shift(change, by, *, beyond):
    change.plan["turn"] += by if change.plan["turn"] > beyond else 0
    state = change.executor_state
    if state is not None and state["road"] == FORWARD and state["position"] > beyond:
        state["position"] += by
    if change.direction == FORWARD and change.step > beyond:
        change.step += by


def _merge_rows(change, number):
    """The fill began when its clearing did; where only that was begun, it was the fill."""
    rows = change.steps.filter(road=FORWARD)
    clear, fill = (rows.filter(number=at).first() for at in (number, number + 1))
    if clear is not None and fill is not None:
        rows.filter(pk=fill.pk).update(started_at=clear.started_at)
        clear.delete()
    elif clear is not None:
        rows.filter(pk=clear.pk).update(kind="fill")
    for row in rows.filter(number__gt=number).order_by("number"):
        rows.filter(pk=row.pk).update(number=row.number - 1)


def _split_rows(change, number):
    """A fill that is over has cleared in no time; one that is not begins with its clearing, which does nothing twice."""
    rows = change.steps.filter(road=FORWARD)
    fill = rows.filter(number=number).first()
    if fill is not None and fill.ended_at is None:
        rows.filter(pk=fill.pk).update(kind="clear")
        return
    for row in rows.filter(number__gte=number).order_by("-number"):
        rows.filter(pk=row.pk).update(number=row.number + 1)
    if fill is not None:
        at = {"started_at": fill.started_at, "ended_at": fill.started_at}
        change.steps.create(road=FORWARD, number=number, kind="clear", version=fill.version, **at)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("changes", "0011_tries_of_steps"),
    ]

    operations = [
        migrations.RunPython(merge, split),
    ]
