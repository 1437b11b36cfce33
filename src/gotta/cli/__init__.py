"""The command line: it parses, calls, and prints."""

import sys

# `python -m gotta.cli` finds modules in the current folder first: a file there called yaml.py would be imported.
if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    del sys.path[0]
