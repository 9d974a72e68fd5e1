"""The folders and sockets of the embedded services, computed from SCHEMALAB_HOME, so two clones never meet. `base` is
the home, or a folder below /var/lib when we are root and user `nobody` could not reach the home. `sockets` is base/run,
or a folder below /tmp when that path is too long for a socket. No other folder is changed."""

import hashlib
import os
import pwd
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from schemalab.sources import make_home

SOCKET_PATH_MAX = 100  # the kernel's limit is 107 bytes
SERVER_USER = "nobody"
DATABASE = "schemalab"


class UnsafeFolder(Exception):
    """A folder that should be ours belongs to another user."""


@dataclass(frozen=True, slots=True)
class Locations:
    """The paths of one home. `drop_to` is the user of the database server, if not us."""

    home: Path
    base: Path
    sockets: Path
    drop_to: str | None

    @property
    def data(self) -> Path:
        return self.base / "postgres"

    @property
    def binaries(self) -> Path:
        return self.base / "pg"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def postgres_sockets(self) -> Path:
        return self.sockets / "pg"

    @property
    def redis_socket(self) -> Path:
        return self.sockets / "redis.sock"

    @property
    def control_socket(self) -> Path:
        return self.sockets / "control.sock"

    @property
    def database_url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        return f"postgresql://schemalab@/{database}?host={quote(str(self.postgres_sockets), safe='')}"

    @property
    def redis_url(self) -> str:
        return f"unix://{self.redis_socket}"


def locations_of(home: Path) -> Locations:
    home = home.resolve()
    as_root = os.geteuid() == 0
    digest = hashlib.sha256(str(home).encode()).hexdigest()[:12]
    base = Path("/var/lib") / f"schemalab-{digest}" if as_root and not is_open_to_all(home) else home
    sockets = base / "run"
    if len(os.fsencode(sockets / "pg" / ".s.PGSQL.5432.lock")) > SOCKET_PATH_MAX:
        sockets = Path("/tmp") / f"schemalab-{os.geteuid()}-{digest}"  # noqa: S108 (refused unless ours alone)
    return Locations(home=home, base=base, sockets=sockets, drop_to=SERVER_USER if as_root else None)


def is_open_to_all(folder: Path) -> bool:
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in (folder, *folder.parents) if parent.exists())


def prepare_folders(locations: Locations) -> None:
    """Creates them. Data and database socket are for the server's user alone."""
    ourselves = pwd.getpwuid(os.geteuid())
    server = pwd.getpwnam(locations.drop_to) if locations.drop_to else ourselves
    for folder in (locations.home, locations.base):
        make_home(folder)
    _private_folder(locations.logs, owner=ourselves, mode=0o700)
    _private_folder(locations.sockets, owner=ourselves, mode=0o711 if locations.drop_to else 0o700)
    _private_folder(locations.postgres_sockets, owner=server, mode=0o700)
    _private_folder(locations.data, owner=server, mode=0o700)


def _private_folder(folder: Path, *, owner: pwd.struct_passwd, mode: int) -> None:
    if not os.path.lexists(folder):
        folder.mkdir(mode=0o700)
        folder.chmod(mode)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != owner.pw_uid or found.st_mode & 0o066:
        raise UnsafeFolder(f"{folder} must be a folder of {owner.pw_name} that nobody else can change: remove it")


def remove(locations: Locations) -> None:
    for folder in (locations.sockets, locations.base, locations.home):
        if folder.exists():
            shutil.rmtree(folder)
