"""Who may talk to the page's server: the page itself.

viser serves whoever connects. Another site's page, open in the same browser, could connect to a port of this machine
and move what is shown; so a request must name this machine as its host, and a page that names an origin must be this
server's.
"""

from __future__ import annotations

import contextlib
import http
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

_patching = threading.Lock()


def own_names(host: str) -> set[str]:
    """Names that this machine is called by, beside its addresses."""
    names = {"localhost", host.lower(), socket.gethostname().lower()}
    with contextlib.suppress(OSError):
        names.add(socket.getfqdn().lower())
    return names


def _name(authority: str) -> str:
    """The host of "host:port" or "[::1]:port"."""
    return (urlsplit("//" + authority).hostname or "").lower()


def refusal(headers: Any, names: set[str]) -> str | None:
    """Why a request is not answered; None where it is."""
    authority = headers.get("Host", "")
    try:
        host = _name(authority)
    except ValueError:
        return "a host that is none"
    if host not in names:
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return "a host that is not this machine"
    origin = headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc.lower() != authority.lower():
        return "a page of another site"
    return None


def _guarded(answer: Callable[[Any, Any], Any] | None, names: set[str]) -> Callable[[Any, Any], Any]:
    def process(connection: Any, request: Any) -> Any:
        why = refusal(request.headers, names)
        if why is not None:
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"refused: {why}\n")
        return None if answer is None else answer(connection, request)

    return process


@contextlib.contextmanager
def same_origin(host: str) -> Iterator[None]:
    """Servers of websockets that are made meanwhile answer to their own pages alone."""
    import websockets.asyncio.server as server

    names = own_names(host)
    with _patching:
        serve = server.serve

        def guarded(*args: Any, **options: Any) -> Any:
            options["process_request"] = _guarded(options.get("process_request"), names)
            return serve(*args, **options)

        server.serve = guarded  # pyright: ignore[reportAttributeAccessIssue]
        try:
            yield
        finally:
            server.serve = serve  # pyright: ignore[reportAttributeAccessIssue]
