"""Tasks by name, and which oracles each says it offers."""

import numpy as np
import pytest

import blockwolfe as bw
from blockwolfe.tasks.base import oracles_of
from blockwolfe.tasks.registry import known_tasks, register_task, task_named
from zoo import PROBLEMS


def test_built_in_tasks_are_known_by_their_class_names():
    for name in known_tasks():
        assert task_named(name).__name__ == name
    classes = [bw.tasks.Chain, bw.tasks.Multiclass, bw.tasks.SpanningTree, bw.tasks.SlackRescaling]
    assert {c.__name__ for c in classes} <= set(known_tasks())


def test_an_unknown_name_is_an_error_that_lists_the_known_ones():
    with pytest.raises(bw.OptionError, match="task='Nothing' is not known; valid: .*'Chain'"):
        task_named("Nothing")


def test_own_tasks_can_be_registered():
    @bw.tasks.register
    class OwnLabels(bw.tasks.Multiclass):
        pass

    assert task_named("OwnLabels") is OwnLabels
    assert register_task(OwnLabels) is OwnLabels


def test_a_name_in_use_is_refused():
    with pytest.raises(bw.OptionError, match="'Chain' is known already, from blockwolfe"):
        register_task(type("Chain", (), {}))
    assert task_named("Chain") is bw.tasks.Chain
    with pytest.raises(bw.InputError, match="no class"):
        register_task(bw.tasks.Chain())


@pytest.mark.parametrize("name", PROBLEMS)
def test_tasks_say_which_oracles_they_offer(name):
    problem = PROBLEMS[name]()
    assert oracles_of(problem.task) == problem.blocks.uncompiled.offered()
    assert "maximize" in oracles_of(problem.task)


def test_multilabel_and_pose_offer_a_maximum():
    task = bw.tasks.Multilabel("full").fit(np.eye(3), np.eye(3, dtype=int))
    assert oracles_of(task) == oracles_of(bw.tasks.Pose()) == ("maximize",)
