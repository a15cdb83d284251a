"""Write docs/errors.md from the pages in src/seqloom/error_codes."""

import sys
from itertools import groupby
from pathlib import Path

from seqloom.errors import Page, pages, subject

TARGET = Path(__file__).parents[1] / "docs" / "errors.md"
HEAD = """# Error codes

Every message of Seqloom carries a code; `seqloom explain CODE` shows its page in the terminal.
The letter gives the exit code of the command: U 2, D 3, M 4, T 5, E 6, S 7.

<!-- Written by scripts/error_pages.py from src/seqloom/error_codes: edit those. -->
"""


def text() -> str:
    """The whole document."""
    parts = [HEAD]
    for title, found in groupby(pages().values(), key=lambda page: subject(page.code)):
        parts += [f"\n## {title}\n", *(_section(page) for page in found)]
    return "".join(parts)


def _section(page: Page) -> str:
    return (
        f"\n### {page.code}: {page.title}\n\n{page.what}\n\n"
        f"**What to do.** {page.fix}\n\n**Why.** {page.why}\n"
    ).replace("<unk>", "`<unk>`")


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    sys.stderr.write(f"wrote {TARGET}\n")
