"""NiceGUI is one for a process: each test that serves pages begins with it as it was imported."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from nicegui import Client, ui
from nicegui.functions.download import download
from nicegui.functions.navigate import Navigate
from nicegui.functions.notify import notify
from nicegui.testing.general import nicegui_reset_globals


@contextmanager
def fresh_nicegui() -> Iterator[None]:
    gc.collect()
    gc.freeze()  # NiceGUI collects garbage before and after: it has to look only at what this test makes
    with nicegui_reset_globals():
        try:
            yield
        finally:
            Client.page_routes.clear()  # else their modules would be imported anew, as others
            ui.navigate, ui.notify, ui.download = Navigate(), notify, download
