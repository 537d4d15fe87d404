"""How fast the command line answers: ``python benchmarks/cli.py``.

Each command is started several times as a process of its own; the median counts, the limit is printed beside.
"""

import statistics
import subprocess
import sys
import time

COMMANDS = {
    ("--help",): 0.5,
    ("diagnose", "--help"): 0.5,
    ("--version",): 0.5,
    ("completion", "bash"): 0.5,
    ("info", "absent-file"): 0.5,
}


def seconds(arguments: tuple[str, ...]) -> float:
    """Wall clock of one process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "llise", *arguments], capture_output=True, check=False)
    return time.perf_counter() - start


def main() -> None:
    """Print a table."""
    print(f"{'command':28}  median s   worst s  limit s")
    for arguments, limit in COMMANDS.items():
        seconds(arguments)  # once for the disk's sake
        times = [seconds(arguments) for _ in range(7)]
        row = f"{statistics.median(times):8.3f}  {max(times):8.3f}  {limit:7.1f}"
        print(f"{'llise ' + ' '.join(arguments):28}  {row}")


if __name__ == "__main__":
    main()
