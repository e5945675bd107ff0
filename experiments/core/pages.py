"""The pages of the documentation, written from figures and their tables: nothing by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from blockwolfe.base.words import counted
from experiments.core.plan import Figure, Page
from experiments.core.table import Table
from experiments.core.working import RESULTS, table_of

__all__ = ["markdown", "markdown_table", "write_pages"]

SIZE_WORDS = {"quick": "This is the quick version: generated data, a few passes. ", "full": ""}


def write_pages(pages: tuple[Page, ...], folder: Path, results: Path = RESULTS) -> None:
    """One file for each paper."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages:
        text = "\n\n".join(markdown(page, results)) + "\n"
        (folder / f"{page.name}.md").write_text(text, encoding="utf-8")


def markdown(page: Page, results: Path = RESULTS) -> Iterator[str]:
    """The paragraphs of a page."""
    yield f"# {page.title}"
    yield f"{page.source} {page.introduction}"
    yield (
        "Every verdict is computed from the data below its picture; `python -m experiments` makes "
        "data, pictures and this page again ([how](index.md))."
    )
    for figure in page.figures:
        try:
            yield from _section(figure, table_of(figure, results))
        except FileNotFoundError:
            yield f"## {figure.title}\n\nNot run yet: `python -m experiments run {figure.name}`."
    if page.missing:
        yield "## What is not drawn, and why"
        yield markdown_table(["what", "why"], page.missing)


def _section(figure: Figure, table: Table) -> Iterator[str]:
    yield f"## {figure.title}"
    yield f"*{figure.number}.* {figure.caption}"
    for ending, kind in (("", "light"), ("-dark", "dark")):
        yield f"![{figure.title}](../images/{figure.picture}{ending}.png#only-{kind})"
    verdicts = [(statement, statement.judge(table)) for statement in figure.statements]
    rows = [(said.text, f"**{verdict.word}**", verdict.found) for said, verdict in verdicts]
    yield markdown_table(["what the paper says", "here", "found"], rows)
    if note := figure.notes(table):
        yield note
    yield f"Differs from the paper: {figure.differs}"
    n_seeds = len(table.values("seed"))
    random = f"{counted(n_seeds, 'seed')}; methods without chance run once"
    yield (
        f"{SIZE_WORDS[table.header['size']]}{random if n_seeds > 1 else 'Nothing here is random'}. "
        f"Budgets of a run, of which the first that is spent ends it: "
        f"{'; '.join(table.header['budgets'])}. Measured on: {'; '.join(table.header['machines'])}."
    )


def markdown_table(header: list[str], rows: object) -> str:
    """Cells of any kind."""
    lines = [header, ["---"] * len(header), *rows]  # type: ignore[misc]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
