"""What a browser opens with a page, without a browser: the socket that brings it news and takes what is pressed."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from websockets import Origin
from websockets.sync.client import ClientConnection, connect

from tests.adapters.service import Service


@contextmanager
def open_page(service: Service, path: str = "/app/guide") -> Iterator[tuple[ClientConnection, str]]:
    """The socket, and the page's id."""
    with service.client() as client:
        page = re.search(r"'client_id': '([0-9a-f-]{36})'", client.get(path).text)
    assert page is not None
    asked = f"client_id={page[1]}&next_message_id=0&implicit_handshake=true&tab_id=t{page[1]}&document_id=d{page[1]}"
    address = f"{service.url.replace('http', 'ws')}/app/_nicegui_ws/socket.io/?{asked}&EIO=4&transport=websocket"
    with connect(address, origin=Origin(service.url), proxy=None) as opened:
        assert str(opened.recv(10)).startswith("0")
        opened.send("40")
        assert str(opened.recv(10)).startswith("40")
        yield opened, page[1]
