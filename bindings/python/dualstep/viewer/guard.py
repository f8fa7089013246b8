"""Who may talk to the page's server: the page itself.

viser serves whoever connects. Another site's page, open in the same browser, could connect to a port of this machine
and move what is shown; so a request must name this machine as its host, and a page that names an origin must be this
server's.
"""

from __future__ import annotations

import contextlib
import http
import ipaddress
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

_patching = threading.Lock()
# what is no request at all, as of whoever tries out ports, is not told with a traceback
_silent = logging.getLogger("dualstep.viewer")
_silent.addFilter(lambda record: record.getMessage() != "opening handshake failed")


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
    try:
        # one that is named several times is a LookupError
        authority = headers.get("Host", "")
        host = _name(authority)
    except (LookupError, ValueError):
        return "a host that is none"
    if host not in names:
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return "a host that is not this machine"
    try:
        origin = headers.get("Origin")
        own = origin is None or urlsplit(origin).netloc.lower() == authority.lower()
    except (LookupError, ValueError):
        own = False
    return None if own else "a page of another site"


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
            options.setdefault("logger", _silent)
            options["process_request"] = _guarded(options.get("process_request"), names)
            return serve(*args, **options)

        server.serve = guarded  # pyright: ignore[reportAttributeAccessIssue]
        try:
            yield
        finally:
            server.serve = serve  # pyright: ignore[reportAttributeAccessIssue]
