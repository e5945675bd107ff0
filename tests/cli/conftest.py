"""A small corpus, a model trained on it by the program, and the program in this process."""

from types import SimpleNamespace

import pytest

from command_line import columns, program


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """Files with a corpus."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "train.txt").write_text(columns(12))
    (folder / "test.txt").write_text(columns(5, seed=1))
    (folder / "raw.txt").write_text(columns(2, seed=2, with_labels=False))
    return folder


@pytest.fixture(scope="session")
def trained(corpus):
    """A model, and what training printed."""
    model = corpus / "model.npz"
    options = ["--lam", "0.05", "--tol", "0.01", "--template", "w[0]; p[-1],p[0]; w[0].suffix2"]
    done = program("train", "chain", corpus / "train.txt", "-o", model, *options)
    return SimpleNamespace(model=model, done=done)


@pytest.fixture
def inside(capsys):
    """Run the program in this process: status, output, errors."""
    from blockwolfe.cli.app import run

    def run_inside(*arguments):
        status = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(returncode=status, stdout=printed.out, stderr=printed.err)

    return run_inside
