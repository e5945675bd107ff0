"""The command line of the fuzzer."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tools.fuzz.campaign import Campaign
from tools.fuzz.cases import FAMILIES, Surroundings
from tools.fuzz.reproducer import read

app = typer.Typer(add_completion=False, help=__doc__)


@app.callback(invoke_without_command=True)
def fuzz(
    context: typer.Context,
    seconds: Annotated[float, typer.Option(help="How long.")] = 600.0,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = 2,
    families: Annotated[str, typer.Option(help="Some of them, separated by commas.")] = "",
    seed: Annotated[int | None, typer.Option(help="Of the first case; default: random.")] = None,
    cases: Annotated[int | None, typer.Option(help="At most so many.")] = None,
    limit: Annotated[float, typer.Option(help="Seconds after which a case hangs.")] = 300.0,
    failures: Annotated[Path, typer.Option(help="Where reproducers go.")] = Path("fuzz-failures"),
) -> None:
    """Random cases against the promises of the library; exit code 1 if one was broken."""
    if context.invoked_subcommand is not None:
        return
    chosen = [name for name in families.split(",") if name] or list(FAMILIES)
    unknown = set(chosen) - set(FAMILIES)
    if unknown:
        raise typer.BadParameter(f"no families: {', '.join(unknown)}; known: {', '.join(FAMILIES)}")
    first = secrets.randbelow(2**31) if seed is None else seed
    campaign = Campaign(chosen, first, jobs, limit, failures.resolve())
    campaign.console.print(f"seed {first}, {jobs} workers, {seconds:g} s: {', '.join(chosen)}")
    campaign.run(seconds, cases)
    campaign.console.print(campaign.table())
    raise typer.Exit(1 if campaign.violations else 0)


@app.command()
def reproduce(path: Path) -> None:
    """Run the case of a reproducer again, in this process."""
    case = read(path)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as root:
        outcome = Surroundings(Path(root)).run(case)
    print(outcome.drawn)
    print(outcome.traceback or outcome.message or "no violation")
    raise typer.Exit(1 if outcome.message else 0)


if __name__ == "__main__":
    app()
