"""The local page as programs see it: uploads, verdicts, limits, hostile requests, and what is left behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import jsonschema
import numpy as np
import pytest
from samples import BAD_FILES, encoded, picture

pytest.importorskip("starlette", reason="Starlette is not installed (extra 'serve')")
from serving import BOUNDARY, form, served
from signalling import with_usual_signals
from test_cli import SCHEMA

from llise.serve.uploads import shown_name

REFERENCE = picture(48, 64)
COPY = np.uint8(np.clip(REFERENCE + np.random.default_rng(0).normal(0, 15, REFERENCE.shape), 0, 255))
FILES = (("reference", "original.png", encoded(REFERENCE)), ("copies", "noisy.png", encoded(COPY)))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, served(patch, tmp_path_factory.mktemp("serve")) as server:
        yield server


@pytest.fixture
def small(monkeypatch, tmp_path):
    """A server with tight limits and little patience."""
    limits = {"max_bytes": 20_000, "max_files": 3, "max_total": 50_000, "max_pixels": 10_000, "patience": 0.5}
    with served(monkeypatch, tmp_path, **limits) as server:
        yield server


def finished(server, *files):
    """Upload, wait for the end, and return job, rows and end."""
    status, answer = server.upload(*files)
    assert status == 201, answer
    *rows, (name, end) = server.wait(answer["job"])
    assert name == "end" and all(event == "row" for event, _ in rows)
    return answer["job"], [row for _, row in rows], end


def test_copies_are_judged_and_report_and_json_can_be_saved(server):
    job, rows, end = finished(server, *FILES, ("copies", "same.png", encoded(REFERENCE)))
    assert end == {"state": "done", "error": ""}
    assert [row["file"] for row in rows] == ["noisy.png", "same.png"]
    assert rows[1]["sentence"] == "No difference beyond rounding." and rows[1]["psnr"] is None
    status, headers, body = server.request("GET", f"jobs/{job}/results.json")
    assert status == 200 and 'filename="llise-results.json"' in headers["content-disposition"]
    results = json.loads(body)
    jsonschema.validate(results, SCHEMA)
    assert results["reference"] == "original.png" and [image["file"] for image in results["images"]] == [
        "noisy.png",
        "same.png",
    ]
    status, headers, body = server.request("GET", f"jobs/{job}/report.html")
    assert status == 200 and "content-disposition" not in headers
    assert b"Diagnosis against original.png" in body and b"noisy.png" in body
    assert (
        'filename="llise-report.html"'
        in server.request("GET", f"jobs/{job}/report.html?download")[1]["content-disposition"]
    )


def test_uploads_are_removed_as_soon_as_they_are_judged_and_the_rest_on_demand(server):
    job, _, _ = finished(server, *FILES)
    for _ in range(100):  # the files go a moment after the last event
        if (mine := [name for name in server.stored if name.startswith(job)]) == [
            f"{job}/report.html",
            f"{job}/results.json",
        ]:
            break
        time.sleep(0.05)
    assert mine == [f"{job}/report.html", f"{job}/results.json"]
    assert server.request("DELETE", f"jobs/{job}")[0] == 204
    assert not (server.folder / job).exists()
    assert server.request("GET", f"jobs/{job}/report.html")[0] == 404


def test_a_reader_that_was_cut_off_goes_on_where_it_stopped(server):
    job, _, _ = finished(server, *FILES, ("copies", "same.png", encoded(REFERENCE)))
    body = server.request("GET", f"jobs/{job}/events", headers={"Last-Event-ID": "0"})[2].decode()
    assert "same.png" in body and "noisy.png" not in body and "event: end" in body
    for strange in ("-1", "x", "9" * 30, "²"):
        headers = {"Last-Event-ID": strange.encode("utf-8").decode("latin-1")}
        assert server.request("GET", f"jobs/{job}/events", headers=headers)[0] == 200


@pytest.mark.parametrize("name", sorted(BAD_FILES))
def test_a_broken_copy_is_reported_and_the_others_are_judged(server, name):
    make, words = BAD_FILES[name]
    job, rows, end = finished(server, FILES[0], ("copies", name, make()), FILES[1])
    assert end["state"] == "done"
    assert rows[0]["file"] == name and words in rows[0]["error"] and str(server.folder) not in rows[0]["error"]
    assert rows[1]["file"] == "noisy.png" and rows[1]["sentence"]
    assert server.request("DELETE", f"jobs/{job}")[0] == 204


def test_a_broken_reference_and_another_size_are_said(server):
    _, rows, end = finished(server, ("reference", "ref.png", b"nothing"), FILES[1])
    assert rows == [] and end["state"] == "failed" and end["error"].startswith("ref.png: not an image")
    _, rows, end = finished(server, FILES[0], ("copies", "other.png", encoded(picture(40, 40))))
    assert end["state"] == "done" and rows[0]["error"].startswith("other.png: ")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../../etc/passwd", "passwd"),
        ("/etc/cron.d/evil", "evil"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("C:/Windows/a.png", "a.png"),
        ("results.json", "results.json"),
        ("<img src=x onerror=alert(1)>.png", "<img src=x onerror=alert(1)>.png"),
        ("two\x1b[31mlines.png", "two\\x1b[31mlines.png"),
        ("x" * 1000, "x" * 200),
        ("ä雪.png", "ä雪.png"),
    ],
)
def test_names_are_shown_and_never_used_as_paths(server, name, shown):
    before = sorted(str(path) for path in server.folder.parent.iterdir())
    job, rows, end = finished(server, FILES[0], ("copies", name, encoded(COPY)))
    assert end["state"] == "done" and [row["file"] for row in rows] == [shown]
    assert sorted(str(path) for path in server.folder.parent.iterdir()) == before
    assert {name.split("/")[1] for name in server.stored if name.startswith(job)} <= {
        "0",
        "1",
        "report.html",
        "results.json",
    }
    assert b"<img src=x" not in server.request("GET", f"jobs/{job}/report.html")[2]


def test_a_name_that_is_not_unicode_is_shown():
    assert shown_name(b"caf\xe9.png") == "caf\ufffd.png"


# ---- who may ask ----


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]:80", ""])
def test_another_host_name_is_refused(server, host):
    status, _, body = server.request("GET", "", host=host or " ")
    assert status in (400, 421) and b"<html" not in body


def test_the_names_of_this_computer_are_accepted(server):
    assert server.request("GET", "", host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"])
@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "jobs"), ("DELETE", "jobs/0")])
def test_another_origin_is_refused(server, origin, method, path):
    headers = {"Origin": origin.format(port=server.port)}
    assert server.request(method, path, headers=headers)[0] == 403
    if method == "POST":
        assert server.upload(*FILES, headers=headers)[0] == 403


def test_other_pages_may_lead_here_but_not_load_or_send_anything(server):
    cross = {"Sec-Fetch-Site": "cross-site"}
    assert server.request("GET", "", headers={**cross, "Sec-Fetch-Mode": "navigate"})[0] == 200
    for headers in (cross, {**cross, "Sec-Fetch-Mode": "no-cors"}, {"Sec-Fetch-Site": "same-site"}):
        assert server.request("GET", "page.js", headers=headers)[0] == 403
    assert server.upload(*FILES, headers={**cross, "Sec-Fetch-Mode": "navigate"})[0] == 403


@pytest.mark.parametrize(
    "path", ["/", "/wrong/", "/jobs", "//", "/%00/", "/../", "/{token}x/", "/{short}/", "/%C3%A9/"]
)
def test_a_wrong_token_finds_nothing(server, path):
    token = server.path.strip("/")
    status, _, body = server.request("GET", path.format(token=token, short=token[:-1]))
    assert status == 404 and token.encode() not in body


@pytest.mark.parametrize(
    "path", ["jobs/../../etc/passwd", "jobs/..%2f..%2fetc/report.html", "jobs/x/report.html", "page.html", "page.py"]
)
def test_tricks_with_paths_find_nothing(server, path):
    assert server.request("GET", path)[0] == 404


def test_answers_forbid_caching_framing_and_other_sources(server):
    status, headers, body = server.request("GET", "")
    assert status == 200 and "server" not in headers
    assert headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"
    assert (
        "default-src 'none'" in headers["content-security-policy"]
        and "frame-ancestors 'none'" in headers["content-security-policy"]
    )
    assert b"http://" not in body and b"https://" not in body
    assert "access-control-allow-origin" not in headers
    assert server.request("GET", "page.js")[1]["x-content-type-options"] == "nosniff"


def test_the_address_without_its_last_slash_leads_to_the_page(server):
    status, headers, _ = server.request("GET", server.path.rstrip("/"))
    assert status == 307 and headers["location"] == server.path


# ---- how much ----


def test_too_large_too_many_and_too_much_are_refused(small):
    noise = np.random.default_rng(0).integers(0, 256, (160, 160)).astype(np.uint8)
    for files, words in [
        ((FILES[0], ("copies", "big.png", encoded(noise))), "big.png: larger than 0.02 MB"),
        ((FILES[0], *[FILES[1]] * 4), "more than 3 copies"),
        ((("reference", "a", b"x" * 19_000), *[("copies", "b", b"x" * 19_000)] * 2), "more than 0.05 MB together"),
    ]:
        status, answer = small.upload(*files)
        assert status == 413 and words in answer["error"]
    assert small.stored == []


def test_too_many_pixels_are_refused_before_they_are_decoded(small):
    _, rows, end = finished(small, FILES[0], ("copies", "huge.png", encoded(np.zeros((200, 200), np.uint8))))
    assert end["state"] == "done" and "huge.png: 40000 pixels, more than 10000" in rows[0]["error"]


@pytest.mark.parametrize(
    ("body", "content_type", "status"),
    [
        (b"{}", "application/json", 415),
        (b"", f"multipart/form-data; boundary={BOUNDARY}", 400),
        (b"nonsense", f"multipart/form-data; boundary={BOUNDARY}", 400),
        (b"x", "multipart/form-data", 415),
        (b"x", f"multipart/form-data; boundary={'b' * 5000}", 400),
        (form(*FILES)[:-30], f"multipart/form-data; boundary={BOUNDARY}", 400),
        (form(FILES[0]), f"multipart/form-data; boundary={BOUNDARY}", 400),
        (form(FILES[0], *FILES), f"multipart/form-data; boundary={BOUNDARY}", 400),
        (form(*FILES, ("other", "c.png", b"x")), f"multipart/form-data; boundary={BOUNDARY}", 400),
        (form(*FILES, ("copies", "n" * 9000, b"x")), f"multipart/form-data; boundary={BOUNDARY}", 400),
    ],
    ids=[
        "json",
        "empty",
        "nonsense",
        "no boundary",
        "long boundary",
        "cut off",
        "no copy",
        "two references",
        "field",
        "name",
    ],
)
def test_what_is_no_proper_form_is_refused_and_leaves_nothing(small, body, content_type, status):
    answered, _, answer = small.request("POST", "jobs", body, {"Content-Type": content_type})
    assert answered == status and json.loads(answer)["error"]
    assert list(small.folder.iterdir()) == []


def test_a_slow_sender_is_given_up_and_others_are_answered_meanwhile(small):
    head = (
        f"POST {small.path}jobs HTTP/1.1\r\nHost: 127.0.0.1:{small.port}\r\nContent-Length: 100000\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
    )
    slow = [socket.create_connection(("127.0.0.1", small.port), timeout=20) for _ in range(5)]
    for connection in slow:
        connection.sendall(head.encode() + form(FILES[0])[:200])
    assert finished(small, *FILES)[2]["state"] == "done"
    for connection in slow:
        assert connection.recv(20).startswith(b"HTTP/1.1 408")
        connection.close()


def test_a_sender_that_goes_away_leaves_nothing(small):
    connection = socket.create_connection(("127.0.0.1", small.port), timeout=20)
    head = (
        f"POST {small.path}jobs HTTP/1.1\r\nHost: 127.0.0.1:{small.port}\r\nContent-Length: 100000\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
    )
    connection.sendall(head.encode() + form(FILES[0])[:300])
    for _ in range(100):
        if small.stored:
            break
        time.sleep(0.02)
    assert small.stored
    connection.close()
    for _ in range(100):
        if not list(small.folder.iterdir()):
            break
        time.sleep(0.05)
    assert list(small.folder.iterdir()) == []


def test_a_full_disk_is_said_and_leaves_nothing(small, monkeypatch):
    def write(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("llise.serve.uploads._Form.write", write)
    status, answer = small.upload(*FILES)
    assert status == 507 and "No space left on device" in answer["error"]
    assert list(small.folder.iterdir()) == []


def test_many_at_once_are_all_answered_and_no_more_than_allowed_are_held(server):
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.upload(*FILES))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    accepted = [answer["job"] for status, answer in answers if status == 201]
    assert len(answers) == 20 and {status for status, _ in answers} <= {201, 503} and accepted
    assert len(list(server.folder.iterdir())) <= 8
    assert server.wait(accepted[-1])[-1][1]["state"] in ("done", "cancelled")
    assert finished(server, *FILES)[2]["state"] == "done"  # there is room again


def test_a_job_that_is_removed_while_it_runs_stops_and_leaves_nothing(server):
    status, answer = server.upload(FILES[0], *[("copies", f"{i}.png", FILES[1][2]) for i in range(60)])
    assert status == 201
    assert server.request("DELETE", f"jobs/{answer['job']}")[0] == 204
    for _ in range(200):
        if not (server.folder / answer["job"]).exists():
            break
        time.sleep(0.05)
    assert not (server.folder / answer["job"]).exists()


# ---- the command ----


def start(tmp_path, *options):
    command = [sys.executable, "-m", "llise", "serve", *options]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                               preexec_fn=with_usual_signals)  # fmt: skip
    return process, process.stdout.readline().strip()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_command_ends_by_a_signal_and_removes_what_was_sent(tmp_path, number):
    from serving import Served

    process, address = start(tmp_path)
    try:
        server = Served(address, next(tmp_path.glob("llise-serve-*")))
        status, answer = server.upload(*FILES, *[("copies", "b.png", FILES[1][2])] * 100)
        assert status == 201
        reader = socket.create_connection(("127.0.0.1", server.port), timeout=20)  # waits for verdicts
        request = f"GET {server.path}jobs/{answer['job']}/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
        reader.sendall(request.encode())
        assert reader.recv(15) == b"HTTP/1.1 200 OK"
        assert server.folder.stat().st_mode & 0o077 == 0  # nobody else looks into it
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.2", server.port), timeout=2)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        reader.close()
    finally:
        process.kill()
    assert process.returncode == 0, err
    assert out == "" and all(line.startswith("llise: ") for line in err.splitlines())
    assert list(tmp_path.glob("llise-serve-*")) == []


def test_a_port_that_is_taken_is_said_in_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process, address = start(tmp_path, "--port", str(port))
        _, err = process.communicate(timeout=30)
    assert process.returncode == 1 and address == ""
    assert f"port {port} cannot be used" in err and "--port" in err and err.count("\n") == 1
    assert list(tmp_path.glob("llise-serve-*")) == []


@pytest.mark.parametrize("module", ["starlette", "uvicorn", "python_multipart"])
def test_a_missing_extra_is_named(monkeypatch, module):
    from click.testing import CliRunner

    from llise.cli.main import commands

    for name in [name for name in sys.modules if name.split(".")[0] == module or name.startswith("llise.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    done = CliRunner().invoke(commands, ["serve"])
    assert isinstance(done.exception, ImportError)
    assert "pip install 'llise[serve]'" in str(done.exception)
