"""The addresses of the page: itself, uploads, verdicts as they come, the report and JSON."""

from __future__ import annotations

import asyncio
import html
import json
from collections.abc import AsyncIterator
from importlib.resources import files

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from llise import __version__
from llise.serve.guard import Guard
from llise.serve.jobs import Job, Jobs
from llise.serve.uploads import Limits, UploadError, receive

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load: its own script and style; it may ask only this server."""

PAUSE = 0.1
"""Seconds between two looks at a job."""


def application(jobs: Jobs, limits: Limits, token: str, port: int) -> Guard:
    """Put the application together."""
    app = Starlette(
        routes=[
            Route("/", _page),
            Route("/page.css", _style),
            Route("/page.js", _script),
            Route("/jobs", _upload, methods=["POST"]),
            Route("/jobs/{job}", _remove, methods=["DELETE"]),
            Route("/jobs/{job}/events", _events),
            Route("/jobs/{job}/report.html", _report),
            Route("/jobs/{job}/results.json", _results),
        ]
    )
    app.router.redirect_slashes = False
    app.state.jobs, app.state.limits = jobs, limits
    return Guard(app, token, port)


def _text(folder: str, name: str) -> str:
    return (files("llise") / folder / name).read_text(encoding="utf-8")


async def _page(request: Request) -> Response:
    limits: Limits = request.app.state.limits
    page = _text("serve/page", "page.html")
    values = {
        "max-bytes": limits.max_bytes,
        "max-files": limits.max_files,
        "max-size": f"{limits.max_bytes / 1e6:g} MB",
        "version": __version__,
    }
    for name, value in values.items():
        page = page.replace(f"<!--{name}-->", html.escape(str(value)))
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


async def _style(request: Request) -> Response:
    return Response(_text("output/templates", "base.css") + _text("serve/page", "page.css"), media_type="text/css")


async def _script(request: Request) -> Response:
    return Response(_text("serve/page", "page.js"), media_type="text/javascript")


async def _upload(request: Request) -> Response:
    jobs: Jobs = request.app.state.jobs
    limits: Limits = request.app.state.limits
    try:
        name, folder = jobs.reserve()
        try:
            stream = request.stream()
            reference, copies = await receive(stream, request.headers.get("content-type", ""), folder, limits)
        except BaseException:  # also where the sender has gone
            jobs.remove(name)
            raise
    except ClientDisconnect:
        return Response(status_code=400)  # nobody reads it
    except UploadError as error:
        # The rest of the body is not read: the connection is of no use any more.
        return JSONResponse({"error": str(error)}, error.status, headers={"Connection": "close"})
    jobs.start(name, Job(folder, reference, copies, limits.max_pixels, limits.align))
    return JSONResponse({"job": name, "copies": len(copies)}, 201)


def _job(request: Request) -> Job | None:
    return request.app.state.jobs.get(request.path_params["job"])


def _gone() -> Response:
    return JSONResponse({"error": "these pictures are not held any more; send them again"}, 404)


async def _remove(request: Request) -> Response:
    if _job(request) is None:
        return _gone()
    request.app.state.jobs.remove(request.path_params["job"])
    return Response(status_code=204)


async def _events(request: Request) -> Response:
    job = _job(request)
    if job is None:
        return _gone()
    last = request.headers.get("last-event-id", "")
    first = int(last) + 1 if last.isascii() and last.isdecimal() and len(last) < 9 else 0
    return StreamingResponse(_messages(job, first), media_type="text/event-stream")


async def _messages(job: Job, first: int) -> AsyncIterator[str]:
    """The rows of a job as server-sent events as soon as they are there; at the end its state."""
    sent = first
    while True:
        ended = job.ended  # before the rows are looked at: none is missed
        while sent < len(job.rows):
            yield f"id: {sent}\nevent: row\ndata: {json.dumps(job.rows[sent])}\n\n"
            sent += 1
        if ended:
            yield f"event: end\ndata: {json.dumps({'state': job.state, 'error': job.error})}\n\n"
            return
        await asyncio.sleep(PAUSE)


async def _report(request: Request) -> Response:
    job = _job(request)
    if job is None or job.state != "done":
        return _gone()
    name = "llise-report.html" if "download" in request.query_params else None
    return FileResponse(job.report, media_type="text/html", filename=name)


async def _results(request: Request) -> Response:
    job = _job(request)
    if job is None or job.state != "done":
        return _gone()
    return FileResponse(job.results, media_type="application/json", filename="llise-results.json")
