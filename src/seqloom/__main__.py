"""`python -m seqloom`."""

import sys

from .cli.main import main

sys.exit(main())
