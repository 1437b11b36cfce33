"""`gotta watch`: the report in a browser while a sweep runs."""

from pathlib import Path
from typing import Annotated

import typer


def watch(folder: Path, port: Annotated[int, typer.Option(min=0, max=65535)] = 8265, host: str = "127.0.0.1") -> None:
    """Serve the report of a folder on this machine; the page updates itself as runs finish. Ctrl-C stops it.

    Example: `gotta watch runs/mini`

    Arguments:
        folder: A folder that `gotta bench` or `gotta run` writes to.

    Options:
        port: 0 takes any free one.
        host: The address to listen on; only this machine unless you say so.
    """
    from gotta.experiment.sweep.bucket import name_of
    from gotta.experiment.sweep.kept import existing_runs
    from gotta.report.store.serve import server

    with server(existing_runs(folder).root, host, port) as made:
        shown = f"[{host}]" if ":" in host else host
        try:
            print(f"Report of {name_of(folder)}: http://{shown}:{made.server_address[1]}/   (Ctrl-C stops)", flush=True)
            if host not in ("127.0.0.1", "localhost", "::1"):
                print("Everybody who reaches this address can read it: there is no password.", flush=True)
            made.serve_forever()
        except KeyboardInterrupt:
            print("Stopped.")
