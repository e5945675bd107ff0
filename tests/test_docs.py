"""The documentation site builds without a warning, its links lead somewhere, and it is complete."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer

import blockwolfe as bw

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Addresses that a page loads by itself; where a link points to is the reader's choice.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.places, self.tags = set(), set(), set(), set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.add(tag)
        self.places.update(found[key] for key in ("id", "name") if found.get(key))
        if tag == "a" and found.get("href"):
            self.links.add(found["href"])
        if found.get("rel") not in ("canonical", "next", "prev") and found.get(LOADED.get(tag)):
            self.loads.add(found[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material")
    pytest.importorskip("mkdocstrings_handlers.python")
    folder = tmp_path_factory.mktemp("site")
    run = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {path: Page(path) for path in folder.rglob("*.html") if path.name != "404.html"}


def test_links_lead_somewhere(site):
    broken = []
    for path, page in site.items():
        for address in page.links | page.loads:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            is_there = target.is_file()
            if is_there and parts.fragment and target in site:
                is_there = unquote(parts.fragment) in site[target].places
            if not is_there:
                broken.append(f"{path.name}: {address}")
    assert not broken


def test_pages_load_nothing_from_elsewhere(site):
    outside = {(path.name, a) for path, page in site.items() for a in page.loads if "//" in a}
    assert not outside
    for style in next(iter(site)).parent.rglob("*.css"):
        assert not re.search(r"url\(['\"]?https?:", style.read_text())
    assert not any("mermaid" in path.read_text() for path in site)


def test_no_formula_is_taken_for_html(site):
    """<w, psi> outside of code would be a tag named "w,": nothing would be seen of it."""
    tags = set().union(*(page.tags for page in site.values()))
    assert sorted(tag for tag in tags if not tag.isalnum() or tag in ("w", "d")) == []


def test_every_public_name_is_on_a_reference_page(site):
    places = set().union(*(page.places for path, page in site.items() if "reference" in path.parts))
    modules = {"blockwolfe": bw, "blockwolfe.tasks": bw.tasks, "blockwolfe.datasets": bw.datasets}
    modules |= {"blockwolfe.metrics": bw.metrics, "blockwolfe.optimize": bw.optimize}
    modules |= {
        f"blockwolfe.structures.{name}": getattr(bw.structures, name)
        for name in bw.structures.__all__
    }
    names = {
        f"{where}.{name}"
        for where, module in modules.items()
        for name in module.__all__
        if callable(getattr(module, name)) and not name.endswith("_into")
    }
    # (measures that `datasets` had before there was `metrics`)
    moved = {f"blockwolfe.datasets.{name}" for name in bw.metrics.__all__}
    assert sorted(names - moved - places) == []


def test_docstrings_become_markdown():
    pytest.importorskip("griffe")
    spec = importlib.util.spec_from_file_location("docstrings", ROOT / "tools" / "docstrings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plain = """Adds <w, x>, as in `a < b`.

    D = ell - <w, v>

Parameters
----------
a : the *sum* of w*.
b, c : two,
    or <three>. d_ : four.

>>> 1
1"""
    assert (
        module.to_markdown(plain)
        == """Adds &lt;w, x>, as in `a < b`.

    D = ell - <w, v>

**Parameters**

- **`a`**: the *sum* of w\\*.
- **`b`**, **`c`**: two, or &lt;three>.
- **`d_`**: four.

```pycon
>>> 1
1
```"""
    )


def test_every_page_has_examples_that_run():
    """Pages that teach are doctests; pytest collects them. This one sees that none has lost its."""
    teaching = [*DOCS.glob("tutorials/*.md"), *DOCS.glob("migration/*.md")]
    teaching += [
        DOCS / f"{name}.md"
        for name in ("index", "getting_started", "own_oracle", "path", "optimize")
    ]
    for page in teaching:
        text = page.read_text()
        assert ">>>" in text or page.name == "index.md", page.name
        fences = re.findall(r"```pycon\n(.*?)```", text, flags=re.DOTALL)
        assert all(block.endswith("\n\n") for block in fences), f"{page.name}: no blank line"


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_the_repository_lead_to_files(name):
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text())
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_commands_on_the_page_exist():
    app = typer.main.get_command(importlib.import_module("blockwolfe.cli.app").app)
    lines = re.findall(r"^ +blockwolfe (\w+)(.*)$", (DOCS / "command_line.md").read_text(), re.M)
    assert len(lines) > 5
    for name, rest in lines:
        known = {option for param in app.commands[name].params for option in param.opts}
        given = {word for word in rest.split() if re.fullmatch("-o|--[a-zA-Z-]+", word)}
        assert given <= known, name


def test_pictures_are_small_and_used():
    used = set(re.findall(r"images/([\w.-]+)", " ".join(p.read_text() for p in DOCS.rglob("*.md"))))
    there = {path.name: path.stat().st_size for path in (DOCS / "images").iterdir()}
    assert used == set(there)
    assert max(there.values()) < 150_000, there  # (nine panels of fourteen lines take most)
