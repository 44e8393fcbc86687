"""Edits of a host library's source files. If an edit does not match exactly once, no file changes."""
import re
import sys
from pathlib import Path


class Edits:
    """Edits of the files in one folder. `write` writes all edited files. `header` is the added header."""

    def __init__(self, folder, header):
        if (Path(folder) / header).exists():
            sys.exit(f"error: '{Path(folder) / header}' exists already\nhint: use an unchanged checkout")
        self.folder = Path(folder)
        self.texts = {}
        self.count = 0

    def replace(self, name, pattern, replacement):
        """Replaces the only match of a regular expression in the file `name`. `.` matches newlines."""
        path = self.folder / name
        if name not in self.texts:
            try:
                self.texts[name] = path.read_text()
            except OSError as error:
                sys.exit(f"error: cannot read '{path}': {error.strerror}\nhint: name the top folder of the checkout")
        text, matches = re.subn(pattern, replacement, self.texts[name], flags=re.S)
        if matches != 1:
            sys.exit(
                f"error: '{path}' has {matches} matches of '{pattern}', not 1\n"
                "hint: use an unchanged checkout of a version that the README names"
            )
        self.texts[name] = text
        self.count += 1

    def write(self):
        """Writes the edited files, and reports their number."""
        for name, text in self.texts.items():
            (self.folder / name).write_text(text)
        print(f"{self.count} edits in {len(self.texts)} files of {self.folder}")
