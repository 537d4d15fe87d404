"""Running the page on this computer until it is stopped; uploads are in a temporary folder that is then removed."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from llise.serve.app import application
from llise.serve.jobs import Jobs
from llise.serve.uploads import Limits

HOST = "127.0.0.1"
"""Only this computer reaches the page."""

MAX_CONNECTIONS = 64
"""Requests that are answered at the same time; more are refused with status 503."""


@contextmanager
def local_server(port: int, limits: Limits) -> Iterator[tuple[uvicorn.Server, socket.socket, str]]:
    """Prepare a server; what it holds is removed when the block ends."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise OSError(f"port {port} cannot be used ({error.strerror}); choose another one with --port") from None
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        with tempfile.TemporaryDirectory(prefix="llise-serve-", ignore_cleanup_errors=True) as folder:
            jobs = Jobs(Path(folder), limits)
            try:
                config = uvicorn.Config(
                    application(jobs, limits, token, port),
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    lifespan="off",
                    ws="none",
                    http="h11",
                    limit_concurrency=MAX_CONNECTIONS,
                    timeout_keep_alive=5,
                    timeout_graceful_shutdown=1,
                )
                yield uvicorn.Server(config), listening, f"http://{HOST}:{port}/{token}/"
            finally:
                jobs.close()
    finally:
        listening.close()


def serve(port: int, limits: Limits, started: Callable[[str], None]) -> None:
    """Run the page until Ctrl-C."""
    if not os.environ.get("LLISE_TRACEBACK"):
        # Requests that are cut off when the page ends are not worth a report.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    with local_server(port, limits) as (server, listening, address):
        listening.listen(128)  # a browser that is quicker than the server waits a moment
        started(address)
        server.run(sockets=[listening])
