"""The progress bar of notebooks."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Callable, Iterator, Optional

#: Calls shorter than this show no bar, in seconds.
_QUICK_S = 0.5

Notify = Optional[Callable[[int, int], None]]


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextlib.contextmanager
def progress(label: str) -> Iterator[Notify]:
    """Yields a function of the work done and the whole work; None outside of notebooks."""
    if not _is_notebook():
        yield None
        return
    from IPython.display import HTML, display

    begin, handle, shown = time.monotonic(), None, None

    def notify(done: int, whole: int) -> None:
        nonlocal handle, shown
        part = min(100 * done // whole, 100) if whole else 0
        if part == shown or time.monotonic() - begin < _QUICK_S:
            return
        shown = part
        bar = HTML(f'<label>{label} <progress max="100" value="{part}"></progress> {part} %</label>')
        if handle is None:
            handle = display(bar, display_id=True)
        else:
            handle.update(bar)

    try:
        yield notify
    finally:
        if handle is not None:
            handle.update(HTML(""))
