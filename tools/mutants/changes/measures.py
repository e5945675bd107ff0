"""Measures of predictions, and what of them reaches users as a score."""

from __future__ import annotations

from tools.mutants.mutant import Mutant

MEASURES, SCORERS = "tests/metrics/test_measures.py", "tests/metrics/test_scorers.py"
BY_TASK = "tests/tasks/test_measures_of_tasks.py::test_against_counts"
CHUNKS = f"{MEASURES}::test_chunks_are_those_of_seqeval"

MUTANTS = [
    Mutant(
        "metrics/labels.py",
        "weight = np.repeat(check_weight(sample_weight, len(length)), length)",
        "weight = np.repeat(check_weight(sample_weight, len(length)) / length, length)",
        "long sequences count no more than short ones once there are weights",
        f"{MEASURES}::test_shares_of_right_labels",
    ),
    Mutant(
        "metrics/labels.py",
        "return len(y) == len(z) and all(_is_same(a, b, i) for a, b in zip(y, z, strict=True))",
        "return len(y) == len(z) and any(_is_same(a, b, i) for a, b in zip(y, z, strict=True))",
        "an output is right if any of it is",
        f"{MEASURES}::test_shares_of_right_labels",
    ),
    Mutant(
        "metrics/counts.py",
        "return cls(label, share(right, predicted), share(right, true), f1, true)",
        "return cls(label, share(right, true), share(right, predicted), f1, true)",
        "precision and recall exchanged",
        f"{MEASURES}::test_label_report",
    ),
    Mutant(
        "metrics/label_report.py",
        "columns = (times(true, is_right), times(found), times(true))",
        "columns = (times(true, is_right), times(true), times(found))",
        "labels by how often they are predicted",
        f"{MEASURES}::test_label_report",
    ),
    Mutant(
        "metrics/chunks.py",
        'if here == kind and prefix != "B":',
        "if here == kind:",
        "two chunks of one type in a row are one",
        CHUNKS,
    ),
    Mutant(
        "metrics/chunks.py",
        "elif ended[end] == (scheme.last, kind):",
        "elif ended[end][0] == scheme.last:",
        "a chunk that ends with another type counts",
        CHUNKS,
    ),
    Mutant(
        "metrics/links.py",
        "(len(A & S) + len(A & (S | P)), len(A) + len(S))",
        "(len(A & S) + len(A & (S | P)), len(A) + len(S | P))",
        "possible links must be found",
        f"{MEASURES}::test_links_and_heads_by_counting",
    ),
    Mutant(
        "metrics/regions.py",
        "label: right / (predicted + true - right)",
        "label: right / (predicted + true)",
        "the intersection is counted twice in the union",
        f"{MEASURES}::test_intersection_over_union",
    ),
    Mutant(
        "tasks/measuring.py",
        "is_right = is_known & (known == encode(guess, classes, offset))",
        "is_right = known == encode(guess, classes, offset)",
        "labels unknown to training count as some known one",
        f"{SCORERS}::test_score_is_a_share_whatever_the_loss",
    ),
    Mutant(
        "tasks/segments.py",
        "return np.asarray((codes != guess) | (begins != guessed))",
        "return np.asarray(codes != guess)",
        "segments cut in two are right",
        f"{BY_TASK}[segments]",
    ),
    Mutant(
        "estimators/outputs.py",
        "return are_arrays and len({y.shape for y in outputs}) <= 1",
        "return are_arrays",
        "outputs of unequal length cannot be put end to end",
        f"{SCORERS}::test_cross_val_predict_on_sequences",
    ),
]
