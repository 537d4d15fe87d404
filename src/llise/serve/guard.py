"""Which requests are answered: those of our own page, from this computer, with the token in the address."""

from __future__ import annotations

import secrets
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of every answer: nothing is cached, framed, read by other pages, or told to other addresses."""


class Guard:
    """Refuses requests that do not come from the page, before anything else looks at them.

    A page of another site cannot read the token. Should it know it: its requests carry its own origin. A host name of
    another site that points to this computer (DNS rebinding) is seen in the Host header.
    """

    def __init__(self, app: ASGIApp, token: str, port: int):
        self.app, self.token = app, token
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return  # web sockets are not accepted
        status, reason = self._refusal(Headers(scope=scope), scope["method"], scope["path"])
        answer: ASGIApp = self.app
        if status:
            answer = PlainTextResponse(reason + "\n", status)
        elif scope["path"] == f"/{self.token}":
            answer = RedirectResponse(f"/{self.token}/")
        else:
            scope = {**scope, "path": scope["path"][len(self.token) + 1 :]}
        await answer(scope, receive, _with_headers(send))

    def _refusal(self, headers: Headers, method: str, path: str) -> tuple[int, str]:
        """Status and reason; status 0 where the request is let through."""
        host = headers.get("host", "")
        if host not in self.hosts or len(headers.getlist("host")) != 1:
            return 421, "wrong Host header; use the address that llise serve printed"
        if any(origin != f"http://{host}" for origin in headers.getlist("origin")):
            return 403, "requests of other pages are refused; use the address that llise serve printed"
        # Another page may only lead here, not load anything from here.
        leads_here = method == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not leads_here:
            return 403, "requests of other pages are refused; use the address that llise serve printed"
        token = path.removeprefix("/").partition("/")[0]
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return 404, "nothing is here; use the whole address that llise serve printed, with its token"
        return 0, ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message.get("headers", [])}
            extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
            headers: list[Any] = [*message.get("headers", []), *(pair for pair in extra if pair[0] not in present)]
            message = {**message, "headers": headers}
        await send(message)

    return sending
