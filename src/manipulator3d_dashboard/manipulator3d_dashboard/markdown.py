# SPDX-License-Identifier: Apache-2.0
"""Text from elsewhere and tables in Markdown."""

from collections.abc import Sequence


def escape(text: str) -> str:
    """Make text from elsewhere stand as it is."""
    for sign in "\\`*_{}[]<>#|~$":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("\n", " ")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table; its texts are Markdown already."""
    lines = [head, [":--" for _ in head], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
