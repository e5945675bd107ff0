"""The HTML report in a real browser: it draws, reacts, keeps to itself, and fits a phone."""

import numpy as np
import pytest

import blockwolfe as bw
from browser import Browser, find_browser, find_driver

EVIL = '<script>document.title="taken"</script><img src=x onerror=document.title="taken">&"\''

pytest.importorskip("selenium", reason="selenium is not installed")
if find_browser() is None or find_driver() is None:
    pytest.skip(
        "no Chromium with its driver on this machine (`make browser` installs both)",
        allow_module_level=True,
    )


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def sentences(n, seed):
    """Token dicts and BIO tags, with markup for words, labels and features."""
    rng = np.random.default_rng(seed)
    words = {
        "O": ["of", "and", "</script><b>"],
        "B-NP": ["a", EVIL],
        "I-NP": ["dog", "x" * 90],
        f"B-{EVIL}": ["runs"],
    }
    X, Y = [], []
    for _ in range(n):
        tags = [str(rng.choice(list(words))) for _ in range(rng.integers(3, 30))]
        X.append(
            [
                {"word": str(rng.choice(words[tag])), f"<i>{EVIL}": float(rng.normal())}
                for tag in tags
            ]
        )
        Y.append([tag if rng.random() < 0.9 else "O" for tag in tags])
    return X, Y


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with every section, made of hostile data."""
    train, held_out = sentences(40, seed=0), sentences(30, seed=1)
    svm = bw.StructuredSVM(
        bw.tasks.Chain(), lam=0.05, tol=0.01, method="bcfw+gap+pairwise", random_state=0
    )
    svm.fit(*train, held_out=held_out)
    path = tmp_path_factory.mktemp("report") / "report.html"
    return bw.write_report(path, svm, train=train, held_out=held_out, command=f"train {EVIL}")


def charts(key, what="svg[role=img] path.line"):
    return f'figure[data-figure="{key}"] {what}'


def count(browser, selector):
    return browser.run(f"document.querySelectorAll({selector!r}).length")


def box(browser, selector):
    return browser.run(f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()")


def text(browser, selector):
    return browser.run(f"document.querySelector({selector!r}).textContent")


def test_it_renders_and_keeps_to_itself(browser, report):
    browser.open(report)
    assert browser.complaints() == []
    title = browser.run("document.title")
    assert title.startswith("Chain: gap")
    assert "taken" not in title
    for key in ("bounds", "gap", "losses"):
        lines = browser.run(
            f"[...document.querySelectorAll({charts(key)!r})].map(p => p.getAttribute('d').length)"
        )
        assert min(lines) > 20, key
    for key in ("confusion", "transitions"):
        assert count(browser, charts(key, "rect.plus")) > 3, key
    assert (
        browser.run(
            "document.querySelector('figure[data-figure=bounds] svg[role=img]').clientHeight"
        )
        > 200
    )


def test_nothing_of_the_data_becomes_markup(browser, report):
    browser.open(report)
    assert count(browser, "main script, img, main i, main b") == 0
    words = browser.run("[...document.querySelectorAll('.word')].map(node => node.textContent)")
    assert EVIL in words
    assert "</script><b>" in words
    assert EVIL in text(browser, "#settings ~ pre")
    # and if something did slip through, the policy would not let it run
    browser.run(
        "document.body.insertAdjacentHTML('beforeend', '<b id=bad onclick=\"document.title=1\"></b>')"
    )
    browser.run("document.getElementById('bad').click()")
    assert browser.run("document.title") != "1"


def test_hovering_reads_the_values(browser, report):
    browser.open(report)
    tip = charts("gap", ".tip")
    assert text(browser, tip) == ""
    browser.hover(charts("gap", "svg[role=img]"), across=0.9)
    near_end = text(browser, tip)
    assert "passes" in near_end
    assert "gap at a full pass" in near_end or "estimate" in near_end
    browser.hover(charts("gap", "svg[role=img]"), across=0.4)
    assert text(browser, tip) not in ("", near_end)
    assert count(browser, charts("gap", "line.cross")) == 1
    tip_box, drawing = box(browser, tip), box(browser, charts("gap", "svg[role=img]"))
    assert drawing["top"] <= tip_box["top"] <= drawing["bottom"]
    assert drawing["left"] <= tip_box["left"] < tip_box["right"] <= drawing["right"] + 1
    browser.hover("h1")
    assert text(browser, tip) == ""
    browser.hover(charts("transitions", "svg[role=img] rect.plus"))
    assert "next label" in text(browser, charts("transitions", ".tip"))


def test_scales_axes_and_legends_redraw(browser, report):
    browser.open(report)
    line = f"document.querySelector({charts('gap')!r}).getAttribute('d')"
    before = browser.run(line)
    browser.click(charts("gap", "button.log"))
    linear = browser.run(line)
    assert linear != before
    browser.run(
        "(s => { s.value = 'oracle calls'; s.dispatchEvent(new Event('change')); })(document.querySelector('#x-axis'))"
    )
    assert browser.run(line) != linear
    labels = browser.run(
        f"[...document.querySelectorAll({charts('gap', 'svg[role=img] text')!r})].map(t => t.textContent)"
    )
    assert "oracle calls" in labels
    shown = count(browser, charts("bounds"))
    dual = charts("bounds", '[data-series="dual"]')
    browser.click(dual)
    assert count(browser, charts("bounds")) == shown - 1
    assert browser.run(f"document.querySelector({dual!r}).getAttribute('aria-pressed')") == "false"
    browser.click(dual)
    assert count(browser, charts("bounds")) == shown
    assert browser.complaints() == []


def test_keyboard(browser, report):
    browser.open(report)
    tip = charts("bounds", ".tip")
    browser.run(f"document.querySelector({charts('bounds', 'svg[role=img]')!r}).focus()")
    browser.press("END")
    last = text(browser, tip)
    browser.press("ARROW_LEFT")
    assert text(browser, tip) not in ("", last)
    browser.press("ESCAPE")
    assert text(browser, tip) == ""
    browser.run(f"document.querySelector({charts('confusion', 'svg[role=img]')!r}).focus()")
    browser.press("ARROW_DOWN")
    first = text(browser, charts("confusion", ".tip"))
    browser.press("ARROW_RIGHT")
    assert first.startswith("true ")
    assert text(browser, charts("confusion", ".tip")) != first
    # everything that can be operated can be reached, and has a name
    unnamed = browser.run(
        "[...document.querySelectorAll('button, select, [tabindex]')].filter(n => "
        "n.tabIndex < 0 || !(n.textContent.trim() || n.getAttribute('aria-label') || n.labels?.length)).length"
    )
    assert unnamed == 0


@pytest.mark.parametrize("width", [390, 320])
def test_a_phone_needs_no_sideways_scrolling(browser, report, width):
    browser.open(report, width=width, height=844)
    inside, window = browser.run(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert window == width
    assert inside <= window
    too_wide = browser.run(
        f"[...document.querySelectorAll('body *')].filter(n => !n.closest('.scroll, .skip') && "
        f"n.getBoundingClientRect().right > {width} + 1).map(n => n.outerHTML.slice(0, 80))"
    )
    assert too_wide == []
    assert browser.complaints() == []


CONTRAST = """
(() => {
  const light = (c) => { const [r, g, b] = c.match(/[0-9.]+/g).map(v => v / 255).map(
      v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = getComputedStyle(document.body).backgroundColor;
  return [...document.querySelectorAll('p, dt, dd, th, td, a, .bad, .good, .word, .label, .guess, svg text')].map(n => {
    const style = getComputedStyle(n);
    const ink = light(n instanceof SVGElement ? style.fill : style.color), back = light(paper);
    return (Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05);
  }).reduce((a, b) => Math.min(a, b));
})()
"""


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_system_and_the_button(browser, report, dark):
    def brightness():
        rgb = browser.run(
            "getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number)"
        )
        return sum(rgb[:3]) / 3

    browser.open(report, dark=dark)
    browser.run("localStorage.clear()")
    browser.open(report, dark=dark)
    assert (brightness() < 60) == dark
    assert browser.run(CONTRAST) >= 4.5
    seen = []
    for _ in range(3):
        browser.click("#theme")
        seen.append((text(browser, "#theme"), brightness() < 60))
    assert seen == [("Colours: dark", True), ("Colours: light", False), ("Colours: system", dark)]
    browser.click("#theme")
    browser.open(report, dark=dark)
    assert brightness() < 60  # it is remembered
    browser.run("localStorage.clear()")


def test_other_models_render(browser, tmp_path):
    """Rows of numbers with a chosen lambda; and a loaded model without any data."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), rng.integers(2, size=40)
    svm = bw.StructuredSVMCV(lams=[1.0, 0.1], cv=2, tol=0.05, random_state=0).fit(X, Y)
    browser.open(bw.write_report(tmp_path / "cv.html", svm, train=(X, Y), held_out=(X, Y)))
    assert browser.complaints() == []
    assert count(browser, charts("lambdas")) >= 1
    svm.save(tmp_path / "model.npz")
    browser.open(bw.write_report(tmp_path / "loaded.html", bw.load(tmp_path / "model.npz")))
    assert browser.complaints() == []
    assert count(browser, charts("gap")) >= 1


def structured_reports(folder):
    """Alignments, parses, label sets and graphs of hostile words."""
    words = [EVIL, "y" * 70, "b"]
    links = bw.tasks.Links(np.eye(9)[:, :4], shape=(3, 3))
    graph = bw.tasks.Graph(np.arange(6.0).reshape(3, 2), [[0, 1]])
    large = bw.tasks.Graph(np.arange(200.0).reshape(100, 2) % 7, [[0, 1]])
    many = [EVIL if k % 3 else "b" for k in range(100)]
    sentence = [(word, EVIL) for word in words]
    cases = {
        "links": (bw.tasks.Matching(), [links], [[(0, 0), (1, 1)]], [[(2, 1), (0, 2)]], [(words, words)]),
        "heads": (bw.tasks.SpanningTree(), [sentence], [[2, 0, 2]], [[0, 1, 1]], [sentence]),
        "sets": (bw.tasks.Multilabel(), np.eye(3), [{EVIL}, {"b"}, {"b", EVIL}], [{"b"}, {EVIL}, set()], np.eye(3)),
        "graphs": (bw.tasks.PairwiseGraph(), [graph, large], [[EVIL, "b", "b"], many], [["b", EVIL, EVIL], many[::-1]], [graph, large]),
    }  # fmt: skip
    for name, (task, X, Y, other, shown) in cases.items():
        svm = bw.StructuredSVM(task, lam=0.1, tol=0.1, max_passes=20).fit(X, Y)
        path = folder / f"{name}.html"
        yield bw.write_report(path, svm, train=(X, Y, shown), held_out=(X, other, shown))


@pytest.mark.filterwarnings("ignore::blockwolfe.NotCertifiedWarning")
def test_structured_outputs_fit_a_phone_and_stay_text(browser, tmp_path):
    for page in structured_reports(tmp_path):
        browser.open(page, width=320, height=844)
        assert browser.complaints() == []
        assert count(browser, "main script, img, main i") == 0
        assert count(browser, ".guess, .bad") > 0
        assert EVIL in text(browser, "main")
        assert browser.run("document.documentElement.scrollWidth") <= 320, page.name
        assert browser.run(CONTRAST) >= 4.5
