#!/usr/bin/env python3
"""Django's command line, with one clear line instead of a traceback when the environment is not right."""

import gc
import importlib.util
import os
import signal
import sys

OWN_PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), ".venv", "bin", "python")


def use_own_python() -> None:
    """`./manage.py` goes on in .venv, where it was set up, when the interpreter that was found is another one."""
    is_unfit = sys.version_info < (3, 11) or importlib.util.find_spec("django") is None
    if is_unfit and sys.prefix == sys.base_prefix and os.access(OWN_PYTHON, os.X_OK):
        os.execv(OWN_PYTHON, [OWN_PYTHON, *sys.argv])  # noqa: S606 (no shell is wanted)


def main() -> None:
    use_own_python()
    if sys.version_info < (3, 11):
        running = sys.version.split()[0]
        sys.exit(f"Schema Lab needs Python 3.11 or newer, this is {running} (Debian: apt-get install python3)")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schemalab.settings")
    gc.disable()  # nothing of what is imported is garbage: `SchemalabConfig.ready` enables it
    try:
        from schemalab import command_line
    except ImportError:
        sys.exit("Django is not installed for this Python: run `make setup`, then .venv/bin/python manage.py ..")
    import psycopg
    from django.db import OperationalError

    from schemalab.environment import BadSetting
    from schemalab.supervisor.terminal import PlainStream

    os.environ["DJANGO_COLORS"] = "nocolor"  # escape sequences of ours would be shown like anybody's
    sys.stdout, sys.stderr = PlainStream(sys.stdout), PlainStream(sys.stderr)
    try:
        try:
            command_line.run(sys.argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has read enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except BadSetting as bad:
        print(bad, file=sys.stderr)
        sys.exit(2)
    except (OperationalError, psycopg.OperationalError) as error:
        why = str(error).strip().splitlines()[0]
        print(
            f"the database does not answer ({why}); start the cluster with manage.py up, or try again", file=sys.stderr
        )
        sys.exit(2)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
