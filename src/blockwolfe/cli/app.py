"""The program: its commands, and how it ends."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer

import blockwolfe
from blockwolfe.base.markup import visible
from blockwolfe.cli import check, data, explore, inspect, listing, predict, report, train
from blockwolfe.cli.showing import BROKEN, INTERRUPTED, NOT_REACHED, OK, WRONG, note, told
from blockwolfe.cli.style import Command, Group, usage_error

__all__ = ["app", "main"]

app = typer.Typer(
    name="blockwolfe",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=Command)(train.train)
app.command(cls=Command)(predict.predict)
app.command(cls=Command)(predict.evaluate)
app.command(cls=Command)(inspect.inspect)
app.command(cls=Command)(report.report)
app.command(cls=Command)(explore.path)
app.command(cls=Command)(explore.compare)
app.command(cls=Command)(listing.methods)
app.add_typer(data.data, name="data")
app.command(cls=Command)(check.check)


@app.command(cls=Command)
def demo() -> int:
    """Read strings of handwritten digits, with a certificate; draws demo-output/report.png.

    \b
    Example:
      blockwolfe demo
    """
    from blockwolfe.cli.demo import main as run

    run()
    return OK


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(f"blockwolfe {blockwolfe.__version__}")
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Print the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error came from; may stand anywhere.")
    ] = False,
) -> None:
    """Structured SVMs trained to a certified optimum by block-coordinate Frank-Wolfe.

    \b
    Examples:
      blockwolfe demo
      blockwolfe train chain train.txt.gz -o chunker.npz --min-count 3
      blockwolfe evaluate chunker.npz test.txt.gz
      blockwolfe predict chunker.npz new.txt
      blockwolfe inspect chunker.npz

    \b
    Exit status:
      0  done
      1  done, but not as asked: the gap did not reach tol, a check failed
      2  bad input or option, or a file that cannot be read or written
      3  a fault of blockwolfe itself
      130  interrupted
    """


def main() -> None:
    """Run the command line and leave with its exit status."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    sys.exit(run(arguments, is_debug=len(arguments) < len(sys.argv) - 1))


def run(arguments: list[str], is_debug: bool = False) -> int:
    """Run one command; the exit status. Errors are one line on standard error."""
    warnings.showwarning = _show_warning
    told.clear()
    try:
        command: Any = typer.main.get_command(app)
        status = command.main(arguments, prog_name="blockwolfe", standalone_mode=False)
        sys.stdout.flush()
        if status == INTERRUPTED and not any(text.startswith("interrupted") for text in told):
            note("interrupted; nothing was written.")  # before there was anything to keep
        return status if isinstance(status, int) else OK
    except BrokenPipeError:  # the reader has gone away: `| head`
        _forget_output()
        return NOT_REACHED
    except (KeyboardInterrupt, typer.Abort):
        note("interrupted; nothing was written.")
        return INTERRUPTED
    except Exception as error:
        if is_debug:
            print(visible(traceback.format_exc()), end="", file=sys.stderr)
        if type(error).__name__ == "NoArgsIsHelpError":  # help has been printed instead
            return WRONG
        status, text = _explained(error)
        note(f"error: {text}")
        _forget_output()
        return status


def _explained(error: Exception) -> tuple[int, str]:
    """Exit status and sentence for an error."""
    from blockwolfe.errors import BlockwolfeError

    if hasattr(error, "format_message"):  # of the options themselves
        return WRONG, usage_error(error)
    if isinstance(error, BlockwolfeError):
        return WRONG, str(error)
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return WRONG, f"{place}{error.strerror or error}."
    if isinstance(error, MemoryError):
        return WRONG, f"not enough memory ({error})."
    name = type(error).__name__
    return BROKEN, f"{name}: {error} (a fault of blockwolfe; --debug shows where)"


def _forget_output() -> None:
    """Send what was not written yet to nowhere, so that leaving does not fail again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    note(f"warning: {message}")
