"""`python -m schemalab.embedded.remove`: deletes the cluster of this clone, unless it runs (`make clean`)."""

import sys

from schemalab.embedded.locations import locations_of, remove
from schemalab.launch.lock import AlreadyRunning, hold
from schemalab.sources import home

if __name__ == "__main__":
    folder = home()
    if folder.exists():
        try:
            with hold(folder):
                remove(locations_of(folder))
        except AlreadyRunning as running:
            sys.exit(str(running))
