"""`python -m rollouts check FILE`."""

import sys

from rollouts.command import main

sys.exit(main())
