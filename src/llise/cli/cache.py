"""The command ``llise cache``: what is in the cache, where it is, and how to empty it."""

from __future__ import annotations

import click

from llise.cli.options import examples
from llise.cli.running import say


@click.group(epilog=examples("llise cache list", "llise cache clear", "llise cache path"))
def cache() -> None:
    """List or clear the learned manifolds of references.

    Reports and llise fit learn the manifold of a reference, which takes some ten seconds at 512 x 512 pixels. It is
    kept in the cache, of which those that were not used for the longest time are deleted when all together become
    larger than 1 GB. Everything in the cache can be made again.
    """


@cache.command("list", epilog=examples("llise cache list"))
def list_models() -> None:
    """List the cached models with size and time of last use, the one used last at the end."""
    from datetime import datetime

    from llise.storage.cache import folder, model_files

    total, count = 0, 0
    for path in model_files():
        try:
            status = path.stat()
        except OSError:  # another process has just deleted it
            continue
        used = datetime.fromtimestamp(status.st_mtime).isoformat(" ", "minutes")
        say(f"{path.name}  {_megabytes(status.st_size):>10}  last used {used}")
        total += status.st_size
        count += 1
    say(f"{count} {'model' if count == 1 else 'models'}, {_megabytes(total)} in {folder()}")


@cache.command(epilog=examples("llise cache clear"))
def clear() -> None:
    """Delete all cached models."""
    from llise.storage.cache import clear as delete_all
    from llise.storage.cache import folder

    count = delete_all()
    say(f"deleted {count} {'model' if count == 1 else 'models'} in {folder()}")


@cache.command(epilog=examples("llise cache path"))
def path() -> None:
    """Print the folder of the cache, which need not exist yet."""
    from llise.storage.cache import folder

    say(str(folder()))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
