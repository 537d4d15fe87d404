"""A running ``llise serve`` for tests, and the requests that a program can send it."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from llise.serve.server import local_server
from llise.serve.uploads import Limits

BOUNDARY = "llise-test-boundary"


class Served:
    """A server in a thread of this process.

    Attributes
    ----------
    address : str
        With the token.
    folder : Path
        The temporary folder of the server.
    """

    def __init__(self, address, folder):
        self.address, self.folder = address, folder
        parts = urlsplit(address)
        self.port, self.path = parts.port, parts.path

    def request(self, method, path="", body=None, headers=None, host=None):
        """Status, headers and body of an answer; the path is put behind the token unless it begins with a slash."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            place = path if path.startswith("/") else self.path + path
            connection.putrequest(method, place, skip_host=True)
            headers = {"Host": host or f"127.0.0.1:{self.port}", **(headers or {})}
            if body is not None:
                headers.setdefault("Content-Length", str(len(body)))
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def upload(self, *files, **options):
        """Send a form of (field, name, content)."""
        headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", **options.pop("headers", {})}
        status, _, body = self.request("POST", "jobs", form(*files), headers, **options)
        return status, json.loads(body) if body.startswith(b"{") else body

    def wait(self, job):
        """All events of a job until its end, as pairs of name and data."""
        status, headers, body = self.request("GET", f"jobs/{job}/events")
        assert (status, headers["content-type"].split(";")[0]) == (200, "text/event-stream")
        events = []
        for text in body.decode().strip().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in text.split("\n"))
            events.append((lines["event"], json.loads(lines["data"])))
        return events

    @property
    def stored(self):
        """All files that the server holds."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())


def form(*files):
    """The body of a form of (field, name, content)."""
    parts = []
    for field, name, content in files:
        name = name if isinstance(name, bytes) else name.encode()
        head = b'Content-Disposition: form-data; name="%s"; filename="%s"' % (field.encode(), name)
        parts.append(b"--%s\r\n%s\r\n\r\n%s\r\n" % (BOUNDARY.encode(), head, content))
    return b"".join(parts) + b"--%s--\r\n" % BOUNDARY.encode()


@contextmanager
def served(monkeypatch, tmp_path: Path, **limits):
    """A server whose temporary folder is inside ``tmp_path``."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with local_server(0, Limits(**limits)) as (server, listening, address):
        listening.listen(64)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Served(address, next(tmp_path.glob("llise-serve-*")))
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()
