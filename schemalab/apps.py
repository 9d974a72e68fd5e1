import gc
from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class SchemalabConfig(AppConfig):
    name = "schemalab"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from catalog import hints
        from lab.live import supervisor
        from schemalab import checks
        from schemalab.people import roles

        assert checks
        hints.sent_through(lambda: import_module("schemalab.celery").app, _broker_failures)
        supervisor.controlled_by(_control)
        post_migrate.connect(roles.keep_roles, dispatch_uid="schemalab.people.roles")
        gc.freeze()  # code and classes stay for the life of the process: no collection looks at them again
        gc.enable()


def _broker_failures() -> tuple[type[Exception], ...]:
    """Imported with the first message: most commands send none."""
    from kombu.exceptions import OperationalError
    from redis.exceptions import RedisError

    return OperationalError, RedisError


def _control(command: str, name: str, who: str) -> None:
    """For replays of the lab. Raises `NotControlled` and `NotReached` of `lab.live.supervisor`."""
    from lab.live.supervisor import NotControlled, NotReached
    from schemalab.supervisor.control import CommandRefused, NotRunning
    from schemalab.supervisor.process_control import control_process

    try:
        control_process(command, name, who=who)
    except CommandRefused as refused:
        raise NotControlled(str(refused)) from refused
    except (NotRunning, OSError, ValueError) as error:  # away, too slow, or gone in the middle of its answer
        raise NotReached(f"{command} {name}: {error}") from error
