"""Report and command line ask a task for its view; a task of one's own can bring one."""

import pytest

import blockwolfe as bw
from blockwolfe.base.markup import element
from blockwolfe.cli.registry import FORMATS, TASKS, task_of_model
from blockwolfe.report.outputs import catalogue
from blockwolfe.report.outputs.catalogue import TaskEntry, load_home, register_task, view_of
from blockwolfe.report.outputs.view import LabelMatrix, View


@pytest.fixture
def own_entries(monkeypatch):
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(catalogue, "_ENTRIES", list(catalogue._ENTRIES))
    before = dict(TASKS)
    yield
    TASKS.clear()
    TASKS.update(before)


class Steps(bw.tasks.Multiclass):
    """A task of one's own, by inheritance."""


class StepsView(View):
    def example(self, x, y, y_hat, feature_names=None):
        return element("p", f"step {y} for {y_hat}")

    def measures(self, Y, Y_hat):
        return {"steps_off": 0.25}

    def weight_name(self, group, at, names):
        return f"height {at}", "step"

    def matrices(self, coef):
        return {
            "steps": LabelMatrix("Steps <up>", ["a", "b"], coef[:4].reshape(2, 2), "from", "to")
        }


def report_of(task, folder):
    X, Y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    svm = bw.StructuredSVM(task, lam=0.1, tol=1e-3, random_state=0).fit(X, Y)
    held_out = (X, ["b", "b", "a"])
    return bw.write_report(folder / "r.html", svm, train=(X, Y), held_out=held_out).read_text()


def test_a_subclass_is_shown_as_its_base(tmp_path):
    assert type(view_of(Steps())) is type(view_of(bw.tasks.Multiclass()))
    assert "Confusion matrix" in report_of(Steps(), tmp_path)


def test_the_report_uses_the_view_of_an_own_task(own_entries, tmp_path):
    register_task(TaskEntry(Steps, StepsView))
    text = report_of(Steps(), tmp_path)
    for words in ("step a for b", "steps off", "0.2500", "height 0", "Steps &lt;up&gt;"):
        assert words in text
    assert "Confusion matrix" not in text  # (its outputs are not said to be labels)


def test_a_wrapper_is_shown_as_what_it_wraps(own_entries):
    register_task(TaskEntry(Steps, StepsView))
    assert isinstance(view_of(bw.tasks.SlackRescaling(Steps())), StepsView)


def test_the_last_entry_of_a_class_counts(own_entries):
    register_task(TaskEntry(Steps, View))
    register_task(TaskEntry(Steps, StepsView))
    assert isinstance(view_of(Steps()), StepsView)


def test_tasks_without_a_view_are_shown_all_the_same():
    view = view_of(object())
    assert type(view) is View
    assert "(1, 2)" in view.example(None, {(1, 2)}, {(2, 1)})


def test_entries_of_the_command_line_are_consistent():
    for name, entry in TASKS.items():
        kind = load_home(entry.task)
        assert catalogue.entry_of(kind) is entry
        assert entry.command == name
        assert entry.help
        assert {*entry.formats, *entry.readers} <= set(FORMATS)
        assert isinstance(view_of(kind()), View)


def test_the_command_line_names_exactly_the_registered_class(own_entries):
    svm = bw.StructuredSVM(Steps(), lam=0.1)
    svm.task_ = Steps()
    with pytest.raises(bw.InputError, match="Steps is not known to the command line"):
        task_of_model(svm)
    entry = register_task(TaskEntry(Steps, StepsView, "steps", ("npz",), "steps"))
    assert task_of_model(svm) == ("steps", entry)
    assert TASKS["steps"] is entry
