"""`python -m gotta`: the command, where the script `gotta` is not on the path."""

import sys

# As in `gotta.cli`: a file called yaml.py in the current folder is not to be imported in place of the library.
if not sys.flags.safe_path:
    del sys.path[0]

from gotta.cli.__main__ import main

if __name__ == "__main__":
    main()
