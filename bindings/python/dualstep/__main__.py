"""`python -m dualstep`, the same as the command `dualstep`."""

import sys

from dualstep.cli import main

sys.exit(main())
