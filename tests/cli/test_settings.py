"""Options of tasks as text: values, losses with their options, and what is refused."""

import json

import pytest

import blockwolfe as bw
from blockwolfe.cli.settings import made_task, parsed_value
from blockwolfe.errors import OptionError

COSTS = [[0, 1], [5, 0]]
LOSSES = {
    "hamming": "hamming",
    "Hamming": bw.tasks.Hamming(),
    "hamming()": bw.tasks.Hamming(),
    "hamming(normalize=false)": bw.tasks.Hamming(normalize=False),
    "Hamming(normalize=False, class_weight=None)": bw.tasks.Hamming(normalize=False),
    "hamming(class_weight=balanced)": bw.tasks.Hamming(class_weight="balanced"),
    'hamming(class_weight={"B-NP": 2})': bw.tasks.Hamming(class_weight={"B-NP": 2}),
    "zero_one(class_weight={0: 1, -1: 3})": bw.tasks.ZeroOne(class_weight={0: 1, -1: 3}),
    "cost_matrix([[0, 1], [5, 0]])": bw.tasks.CostMatrix(COSTS),
    "cost_matrix(costs=[[0, 1], [5, 0]], normalize=false)": bw.tasks.CostMatrix(COSTS, False),
    "[[0, 1], [5, 0]]": COSTS,
}


@pytest.mark.parametrize("text", LOSSES)
def test_losses_with_their_options(text):
    made, expected = made_task(bw.tasks.Chain, [f"task_loss={text}"]).task_loss, LOSSES[text]
    assert type(made) is type(expected)
    if hasattr(expected, "get_params"):
        assert made.get_params() == expected.get_params()
    else:
        assert made == expected


def test_what_a_summary_prints_can_be_given_again():
    task = bw.tasks.Chain(task_loss=bw.tasks.CostMatrix([[0, 2], [1, 0]], normalize=False))
    again = made_task(bw.tasks.Chain, [f"task_loss={task.task_loss!r}"])
    assert repr(again) == repr(task)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3), ("-3", -3), ("0.5", 0.5), ("1e-3", 1e-3), ("true", True), ("False", False),
        ("null", None), ("None", None), ('"true"', "true"), ("inf", float("inf")),
        ('["a", b, 3]', ["a", "b", 3]), ("B-NP", "B-NP"), ("a,b", "a,b"), ("", ""),
        ("1 + 1", "1 + 1"), ("x.y", "x.y"), ("lambda: 0", "lambda: 0"), ("007", "007"),
        ("[x for x in y]", "[x for x in y]"), ("{[1]: 2}", "{[1]: 2}"), ("(" * 500, "(" * 500),
        ("[" * 5000, "[" * 5000), (r'"a\d"', r"a\d"), ("nul\0", "nul\0"),
    ],
)  # fmt: skip
def test_values(text, value):
    found = parsed_value("option", text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("bias", "must be name=value"),
        ("bais=false", "set='bais' is not known; did you mean 'bias'"),
        ("normalize=false", r"normalize is an option of losses. A loss is .*hamming\(normalize"),
        ("task_loss=haming", r"did you mean 'hamming'.*A loss is hamming, zero_one"),
        ("task_loss=haming(normalize=true)", "'haming' is not known; did you mean 'hamming'"),
        ("task_loss=hamming(normalise=1)", "'normalise' is not known; did you mean 'normalize'"),
        ("task_loss=hamming(normalize=flase)", "normalize='flase' must be True or False"),
        ("task_loss=hamming(", r"'hamming\(' cannot be read. A loss is"),
        ("task_loss=hamming(true, null, 3)", "too many positional arguments. A loss is"),
        ("task_loss=cost_matrix", "missing a required argument: 'costs'. A loss is"),
        ("task_loss=hamming(**x)", "is not known"),
        ("task_loss=hamming(normalize=1 + 1)", "cannot be read"),
        ("task_loss=__import__('os').system('exit')", "cannot be read"),
        ("task_loss=print(1)", "task_loss='print' is not known"),
    ],
)
def test_refused(setting, message):
    with pytest.raises(OptionError, match=message):
        made_task(bw.tasks.Chain, [setting])


def test_a_task_of_a_user_may_have_any_task_loss():
    class Own:
        def __init__(self, task_loss="mine"):
            self.task_loss = task_loss

    assert made_task(Own, ["task_loss=yours"]).task_loss == "yours"


def test_the_loss_reaches_training(corpus, inside, tmp_path):
    """Counted, the loss of a sentence of six words is six times its share."""
    common = ["train", "chain", corpus / "train.txt", "-o", tmp_path / "m.npz", "--lam", "1e9"]
    primal = {}
    for normalize in ("true", "false"):
        setting = f"task_loss=hamming(normalize={normalize})"
        done = inside(*common, "--json", "--max-passes", "1", "--set", setting)
        primal[normalize] = json.loads(done.stdout)["primal"]
    assert primal["false"] == pytest.approx(6 * primal["true"], rel=1e-3)
