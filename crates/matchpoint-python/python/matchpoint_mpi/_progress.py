"""The progress bar of notebooks."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Callable, Iterator, Optional

#: Seconds after which a call shows a progress bar.
_DELAY_S = 0.5

Notify = Optional[Callable[[int, int], None]]


def _is_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


@contextlib.contextmanager
def progress(label: str) -> Iterator[Notify]:
    """Yields a function that shows the progress: notify(done, total). Yields None outside of notebooks."""
    if not _is_notebook():
        yield None
        return
    from IPython.display import HTML, display

    begin, handle, shown_percent = time.monotonic(), None, None

    def notify(done: int, total: int) -> None:
        nonlocal handle, shown_percent
        percent = min(100 * done // total, 100) if total else 0
        if percent == shown_percent or time.monotonic() - begin < _DELAY_S:
            return
        shown_percent = percent
        bar = HTML(f'<label>{label} <progress max="100" value="{percent}"></progress> {percent} %</label>')
        if handle is None:
            handle = display(bar, display_id=True)
        else:
            handle.update(bar)

    try:
        yield notify
    finally:
        if handle is not None:
            handle.update(HTML(""))
