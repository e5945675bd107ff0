"""Running the program, and a small corpus for it."""

import os
import random
import subprocess
import sys

NOUNS, VERBS = ["cat", "dog", "bird", "fish"], ["saw", "ate", "sold"]


def columns(n_sentences, seed=0, with_labels=True):
    """Sentences such as "the cat saw a dog": words, parts of speech, chunk tags."""
    draw = random.Random(seed)
    lines = []
    for _ in range(n_sentences):
        for word, pos, tag in (
            (draw.choice(["the", "a"]), "DT", "B-NP"),
            (draw.choice(NOUNS), "NN", "I-NP"),
            (draw.choice(VERBS), "VB", "B-VP"),
            (draw.choice(["the", "a"]), "DT", "B-NP"),
            (draw.choice(NOUNS), "NN", "I-NP"),
            (".", ".", "O"),
        ):
            lines.append(f"{word} {pos} {tag}" if with_labels else f"{word} {pos}")
        lines.append("")
    return "\n".join(lines) + "\n"


def program(*arguments, **options):
    """Run the program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "blockwolfe", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
        **options,
    )
