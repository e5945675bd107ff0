"""How well models predict out of the box: ours, CRFsuite's, and an SVM for every position.

    python benchmarks/predictions_table.py [--sets digits conll] [--models svm crf] [--records F]

Test measures, and CPU seconds of training alone, choosing included. Nothing is chosen on test
data: `StructuredSVMCV` chooses on folds of the training set, the others that choose (CRFsuite's c1
and c2, C of the SVM for every position) on a fifth of it, after which they are trained on all.
With `--records` every line and every try on held-out data is kept as it comes, as JSON; what is
there is not made again.
With `--jobs` so many trainings run side by side, each in a process and on a core of its own.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import crfsuite
import numpy as np
import scipy.sparse as sp
from common import machine, options, publish, table, timed
from joblib.externals.loky import get_reusable_executor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import blockwolfe as bw
from blockwolfe.data import find_file
from blockwolfe.data.formats.base import read_source
from blockwolfe.data.formats.tagging import TaggedWords

MEASURES = ["accuracy", "chunk F1"]
HEADER = ["data", "model", "chosen", *MEASURES, "CPU s"]
# Values that are tried on a fifth of the training set. (Without an end some of L-BFGS's trainings
# take half an hour, and gain nothing by it.)
ENOUGH = {"max_iterations": 300}
CRF_GRID = [ENOUGH | {"c1": a, "c2": b} for a, b in product((0.0, 0.1, 1.0), (0.01, 0.1, 1.0))]
LINEAR_GRID = [{"C": C} for C in (0.01, 0.1, 1.0)]
EXAMPLES_TO_COMPILE = 20


class Data(NamedTuple):
    """Sequences to train on and to test on."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any
    has_chunks: bool = False

    def measures(self, Y_hat: Any) -> dict[str, float]:
        """The measures of predictions on test data."""
        found = {"accuracy": bw.metrics.token_accuracy(self.Y_test, Y_hat)}
        if self.has_chunks:
            found["chunk F1"] = bw.metrics.chunk_f1(self.Y_test, Y_hat).f1
        return found

    def score(self, Y_hat: Any) -> float:
        """What is chosen by: the last measure."""
        return list(self.measures(Y_hat).values())[-1]

    def held_out(self, seed: int = 0) -> Data:
        """A fifth of the training set as test data, the rest to train on."""
        order = np.random.default_rng(seed).permutation(len(self.Y))
        test, train = np.split(order, [len(order) // 5])
        parts = ([V[i] for i in at] for at in (train, test) for V in (self.X, self.Y))
        return Data(*parts, self.has_chunks)

    def first(self, n: int | None) -> Data:
        """At most so many examples of either part."""
        return Data(*(V[:n] for V in self[:4]), self.has_chunks)


class Outcome(NamedTuple):
    """What a model predicts for test data, what it chose, and what its training took."""

    Y_hat: Any
    cpu_seconds: float
    chosen: str = ""


def splits(load: Callable[[str], Any], has_chunks: bool = False) -> Data:
    train, test = load("train"), load("test")
    return Data(train.X, train.Y, test.X, test.Y, has_chunks)


def treebank(column: str, home: Any, template: str | None = None) -> Data:
    """Words of UD English EWT with one of its columns as labels."""
    files = [find_file("ud_ewt", f"en_ewt-ud-{s}.conllu.gz", home) for s in ("train", "test")]
    train, test = (read_source(str(file)) for file in files)
    words = TaggedWords(column=column, template=template)
    seen, unseen = words.learn([train]), words.read(test, labelled=True)
    return Data(seen.X, seen.Y, unseen.X, unseen.Y)


SETS: dict[str, Callable[[Any], Data]] = {
    "digits": lambda home: splits(lambda split: bw.datasets.digit_strings(split=split)),
    "ocr-small": lambda home: splits(lambda split: bw.datasets.load_ocr("small", split, home)),
    "ocr-large": lambda home: splits(lambda split: bw.datasets.load_ocr("large", split, home)),
    "conll": lambda home: splits(lambda split: bw.datasets.load_conll2000(split, home), True),
    "ud-upos": lambda home: treebank("upos", home),
    "ud-xpos": lambda home: treebank("xpos", home),
}


# -- models --------------------------------------------------------------------------------------


def structured(estimator: Any, data: Data) -> Outcome:
    """One of our estimators, compiled before it is timed."""
    small = data.first(EXAMPLES_TO_COMPILE)
    estimator.fit(small.X, small.Y)
    run = timed(lambda: estimator.fit(data.X, data.Y))
    chosen = f"lam = {estimator.lam_ * len(data.Y):.3g}/n"
    return Outcome(estimator.predict(data.X_test), run.cpu_seconds, chosen)


def crf(algorithm: str, data: Data, **params: Any) -> Outcome:
    """CRFsuite."""
    model = crfsuite.train(data.X, data.Y, algorithm, params)
    dtype = np.asarray(data.Y[0]).dtype
    dtype = object if dtype.kind == "U" else dtype  # (a longer label is not to be cut)
    return Outcome(crfsuite.predict(model, data.X_test, dtype), model.cpu_seconds)


def linear(data: Data, C: float) -> Outcome:
    """An SVM that sees the row of one position at a time."""
    svm = LinearSVC(C=C, random_state=0)
    rows, labels = sp.vstack(list(map(sp.csr_array, data.X)), "csr"), np.concatenate(data.Y)
    run = timed(lambda: svm.fit(rows, labels))
    return Outcome([svm.predict(sp.csr_array(x)) for x in data.X_test], run.cpu_seconds)


def lbfgs(data: Data, **params: Any) -> Outcome:
    return crf("lbfgs", data, **params)


class Model(NamedTuple):
    """A way to train, and the options of which the best on held-out data are taken."""

    title: str
    train: Callable[..., Outcome]
    grid: Sequence[dict[str, float]] = ({},)


MODELS: dict[str, Model] = {
    "svm": Model(
        "StructuredSVM, defaults",
        lambda data: structured(bw.StructuredSVM(bw.tasks.Chain(), random_state=0), data),
    ),
    "svm-cv": Model(
        "StructuredSVMCV, defaults",
        lambda data: structured(bw.StructuredSVMCV(bw.tasks.Chain(), random_state=0), data),
    ),
    "early": Model(
        "StructuredSVM, early stopping",
        lambda data: structured(
            bw.StructuredSVM(bw.tasks.Chain(), early_stopping=True, random_state=0), data
        ),
    ),
    "crf": Model("CRFsuite L-BFGS, defaults", lbfgs),
    "perceptron": Model("CRFsuite averaged perceptron", lambda data: crf("ap", data)),
    "linear": Model("SVM per position", linear, LINEAR_GRID),
    "crf-tuned": Model("CRFsuite L-BFGS, tuned", lbfgs, CRF_GRID),
}


class Try(NamedTuple):
    """What some options are worth on held-out data, and what their training took."""

    score: float
    cpu_seconds: float


def tried(model: Model, data: Data, given: dict[str, float]) -> Try:
    """Train with these options."""
    found = model.train(data, **given)
    return Try(data.score(found.Y_hat), found.cpu_seconds)


class Records:
    """A file with every line and every try, so that what is there is not made again."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        rows = [] if path is None or not path.exists() else path.read_text().splitlines()
        self.there = {self._key(row): row for row in map(json.loads, rows)}

    @staticmethod
    def _key(row: dict[str, Any]) -> tuple[str, ...]:
        return row["data"], row["model"], json.dumps(row.get("tried"))

    def find(self, **names: Any) -> dict[str, Any] | None:
        """The row of these names."""
        return self.there.get(self._key(names))

    def keep(self, row: dict[str, Any]) -> dict[str, Any]:
        """Show a row, and add it to the file."""
        text = json.dumps(row)
        print(text, flush=True)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(text + "\n")
        self.there[self._key(row)] = row
        return row


class Trainings:
    """Where trainings run: here, one after the other, or side by side in processes."""

    def __init__(self, jobs: int, records: Records) -> None:
        self.jobs, self.records = jobs, records

    def run(self, call: Callable[[], Any]) -> Any:
        """What the call returns."""
        if self.jobs == 1:
            return call()
        return get_reusable_executor(self.jobs, timeout=3600).submit(call).result()

    def side_by_side(self, call: Callable[..., Any], *given: Sequence[Any]) -> list[Any]:
        """As `map`; what is called runs in threads, which wait for their processes."""
        if not all(given):
            return []
        with ThreadPoolExecutor(1 if self.jobs == 1 else len(given[0])) as threads:
            return list(threads.map(call, *given))

    def best_of(self, name: str, model: Model, data: Data) -> Outcome:
        """With the options that are best on a fifth of the training set; all time counts."""
        if len(model.grid) == 1:
            return self.run(partial(model.train, data, **model.grid[0]))
        part = data.held_out()
        tries = self.side_by_side(partial(self._tried, name, model, part), model.grid)
        best = model.grid[int(np.argmax([one.score for one in tries]))]
        last = self.run(partial(model.train, data, **best))
        named = ", ".join(f"{option} = {value:g}" for option, value in best.items())
        total = last.cpu_seconds + sum(one.cpu_seconds for one in tries)
        return Outcome(last.Y_hat, total, f"{named}; last training {last.cpu_seconds:.3g} s")

    def _tried(self, name: str, model: Model, part: Data, given: dict[str, float]) -> Try:
        names = {"data": name, "model": model.title, "tried": given}
        row = self.records.find(**names)
        if row is None:
            found = self.run(partial(tried, model, part, given))
            row = self.records.keep(names | {"score": found.score, "CPU s": found.cpu_seconds})
        return Try(row["score"], row["CPU s"])


# -- lines ---------------------------------------------------------------------------------------


def line(data: dict[str, Data], trainings: Trainings, name: str, model: Model) -> dict[str, Any]:
    """One model on one set, unless it is there."""
    names = {"data": name, "model": model.title}
    row = trainings.records.find(**names)
    if row is not None:
        return row
    found = trainings.best_of(name, model, data[name])
    values = data[name].measures(found.Y_hat)
    measures = {measure: round(value, 4) for measure, value in values.items()}
    seconds = round(found.cpu_seconds, 3)
    row = names | {"chosen": found.chosen, **measures, "CPU s": seconds}
    return trainings.records.keep(row)


def made(given: Any, models: list[Model]) -> list[dict[str, Any]]:
    """All lines in order: those that are kept, and new ones."""
    records, names = Records(given.records), [name for name in given.sets for _ in models]
    wanted = list(zip(names, models * len(given.sets), strict=True))
    lacking = {name for name, m in wanted if records.find(data=name, model=m.title) is None}
    data = {name: SETS[name](given.data_home).first(given.at_most) for name in lacking}
    trainings = Trainings(given.jobs, records)
    return trainings.side_by_side(partial(line, data, trainings), *zip(*wanted, strict=True))


def main() -> None:
    parser = options(__doc__, needs_data=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--records", type=Path, help="keep lines and tries in this file")
    parser.add_argument("--at-most", type=int, help="examples of either part; all by default")
    parser.add_argument("--jobs", type=int, default=1, help="trainings side by side")
    given = parser.parse_args()
    warnings.simplefilter("ignore", bw.NotCertifiedWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    named = [MODELS[name] for name in given.models]
    models = [m for m in named if crfsuite.IS_THERE or not m.title.startswith("CRF")]
    if models != named:
        publish(None, "python-crfsuite is not installed: its lines are left out.")
    rows = [[cell(name, row.get(name, "")) for name in HEADER] for row in made(given, models)]
    publish(given.output, table(HEADER, rows), machine())


def cell(name: str, value: Any) -> Any:
    """Measures with four digits, the time with fewer."""
    return f"{value:.4f}" if value != "" and name in MEASURES else value


if __name__ == "__main__":
    main()
