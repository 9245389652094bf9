"""A report of 200 rules and a million violations, with hostile cells: it opens, searches, filters, sorts and drills
down."""

import datetime as dt
import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import rowlaw
from rowlaw.report import write_report
from rowlaw.report.limits import MOST_BYTES
from rowlaw.rules import NamedRule, RuleSet

HOSTILE = "</script><script>window.hacked = 1</script>"
IMAGE = "<img src=x onerror='window.hacked = 1'>"


@pytest.fixture(scope="module")
def result():
    random = np.random.default_rng(0)
    n = 4_000
    columns = {f"number {i}": random.integers(0, 400, n) for i in range(10)} | {
        f"text {i}": random.integers(0, 30, n).astype(str) for i in range(5)
    }
    columns |= {
        "day": np.datetime64("2020-01-01") + random.integers(0, 900, n),
        IMAGE: random.integers(0, 9, n).astype(str),
        "id": np.arange(n),
    }
    columns["text 0"] = columns["text 0"].astype(object)
    columns["text 0"][5:9] = [HOSTILE, IMAGE, "javascript:alert(1)", "'\"`{{7*7}}${7}"]
    columns["text 1"][:500] = "same"
    table = pa.table(columns)
    names = [name for name in columns if name != "id"]
    texts = [
        "key (id)",
        f"fd (`text 1`) -> `{IMAGE}`",
        "fd (`text 1`) -> `text 0`",
        "not (s.`number 1` > 398)",
        "od {`text 2`}: `number 1` ~ day",
    ]
    texts += ["not (s.`number 1` < t.`number 2` and s.`text 1` = t.`text 1`)", "key (id, day)", "od [id] -> [id]"]
    texts += [f"fd (`{a}`) -> `{b}`" for a in names for b in names if a != b][: 199 - len(texts)]
    rules = [NamedRule(f"R{i}", rowlaw.parse(text)) for i, text in enumerate(texts, 1)]
    rules.append(NamedRule("soft <b>", rowlaw.parse("fd (`text 3`) -> `text 4`"), severity="warn", because=IMAGE))
    with_all = rowlaw.check(table, RuleSet(tuple(rules)), progress=False)
    yield with_all
    with_all.close()


@pytest.fixture(scope="module")
def report(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    result.to_html(path, title=f"big {HOSTILE}.csv", command=f"rowlaw report {IMAGE}")
    return path


def ids(page):
    return page.eval_on_selector_all("#list .item", "items => items.map(item => item.dataset.id)")


def test_opens_without_a_network_and_within_its_size(visit, report, result):
    assert report.stat().st_size <= MOST_BYTES
    assert sum(result.counts.values()) > 1_000_000
    one = visit(report)
    page = one.page
    broken = sum(v.named.severity == "error" for v in result.broken)
    assert page.inner_text("h1") == f"{broken} of 200 rules broken"
    assert f"{sum(result.counts.values()):,}" in page.inner_text("#tiles")
    assert "% of the table" not in page.inner_text("#verdict")
    assert "time" not in page.inner_text("#tiles")
    assert len(ids(page)) == 200
    for chart in ("plot", "matrix-chart", "graph-chart"):
        one.drawn(chart)
        assert page.locator(f"#{chart} svg").count() == 1
    assert page.locator("#worst-table tbody tr").count() == 8
    page.click("#worst >> text=Show all 25")
    assert page.locator("#worst-table tbody tr").count() == 25
    assert "IMG" not in page.evaluate("[...document.querySelectorAll('*')].map(e => e.tagName)")


def test_hostile_contents_stay_text(visit, report):
    one = visit(report)
    page = one.page
    page.click('.item[data-id="R3"]')
    assert page.inner_text("#detail-title") == "R3"
    one.drawn("plot")
    cells = " ".join(page.locator("#detail .card td").all_inner_texts())
    assert HOSTILE in cells or IMAGE in cells
    page.click('.item[data-id="soft <b>"]')
    assert page.inner_text("#detail-title") == "soft <b>"
    assert page.inner_text("#detail .because") == IMAGE
    assert IMAGE in page.inner_text("#again")
    assert HOSTILE in page.inner_text("#table-name")
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 4  # data, library, page, and the library once it is unpacked
    assert page.locator("b", has_text="soft").first.inner_text() == "soft <b>"


def test_nothing_can_be_evaluated_or_fetched(visit, report):
    one = visit(report)
    refused = one.page.evaluate(
        """async () => {
            const found = [];
            document.addEventListener('securitypolicyviolation', (event) => found.push(event.effectiveDirective));
            const script = document.createElement('script');
            script.textContent = 'window.hacked = 1';
            document.head.append(script);
            await fetch('https://example.com/').catch(() => null);
            await new Promise((done) => setTimeout(done, 200));
            let evaluated = true;
            try { new Function('return 1')(); } catch { evaluated = false; }
            return [found, evaluated, window.hacked ?? null];
        }"""
    )
    assert "connect-src" in refused[0]
    assert any(directive.startswith("script-src") for directive in refused[0])
    assert refused[1:] == [False, None]
    one.complaints.clear()  # what was refused was logged
    one.requests[:] = [url for url in one.requests if url.startswith("file:")]


def test_search(visit, report):
    page = visit(report).page
    page.fill("#search", "DAY text")
    found = ids(page)
    assert 0 < len(found) < 30
    for law in page.locator("#list .law").all_inner_texts():
        assert "day" in law
        assert "text" in law
    assert page.inner_text("#shown").startswith(f"{len(found)} of 200 rules")
    assert page.get_attribute("#shown", "role") == "status"
    page.fill("#search", "no such thing")
    assert page.inner_text("#list") == "No rule matches."
    page.fill("#search", "")
    assert len(ids(page)) == 200


def test_filters_by_mouse_and_keyboard(visit, report, result):
    page = visit(report).page
    page.click("#kinds label:has-text('key')")
    assert set(ids(page)) == {"R1", "R7"}
    page.focus("#kinds input[value=key]")
    page.keyboard.press("Space")
    assert len(ids(page)) == 200
    page.focus("#statuses input[value=warning]")
    page.keyboard.press("Space")
    assert ids(page) == ["soft <b>"]
    page.click("#statuses label:has-text('holds')")
    assert set(ids(page)) == {"soft <b>", *(v.id for v in result.verdicts if not v.violations)}


def test_sort(visit, report, result):
    page = visit(report).page
    by_violations = [v.violations for v in sorted(result.verdicts, key=lambda v: -v.violations)]
    page.select_option("#sort", "violations")
    assert [result.counts[id] for id in ids(page)] == by_violations
    page.select_option("#sort", "id")
    assert ids(page)[:3] == ["R1", "R2", "R3"]
    assert ids(page)[-1] == "soft <b>"
    page.select_option("#sort", "verdict")
    assert ids(page)[-1] in {v.id for v in result.verdicts if not v.violations}


def test_drill_down_by_mouse(visit, report, result):
    one = visit(report)
    page = one.page
    page.click('.item[data-id="R6"]')
    one.drawn("plot")
    shown = page.inner_text("#detail")
    assert f"{result.counts['R6']:,}" in shown
    assert page.locator("#detail .card").count() == 12
    marked = page.locator("#detail .card").first.locator("tr.clash")
    assert marked.count() == 1
    assert "s.number 1 < t.number 2" in marked.inner_text()
    assert page.locator("#plot svg path").count() > 20
    assert "SELECT" not in shown
    page.click("#detail summary")
    assert "SELECT" in page.inner_text("#detail pre")
    assert page.locator("#strip i").count() < 6  # 200 marks could not be told apart: a bar of the verdicts
    page.click("#worst-table .link >> nth=0")
    assert page.inner_text("#detail-title") in result.counts


def test_drill_down_by_keyboard(visit, report):
    page = visit(report).page
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type("text 3")
    page.keyboard.press("ArrowDown")
    found = ids(page)
    assert page.evaluate("document.activeElement.dataset.id") == found[0]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.id") == found[2]
    assert page.inner_text("#detail-title") == found[2]
    assert page.get_attribute(f'.item[data-id="{found[2]}"]', "aria-current") == "true"
    assert page.locator('.item[tabindex="0"]').count() == 1
    page.keyboard.press("End")
    assert page.inner_text("#detail-title") == found[-1]
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "detail"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.dataset.id") == found[-1]


def test_everything_has_a_name(visit, report):
    """What a screen reader is told: names of controls, charts and regions, and headings that skip no level."""
    one = visit(report)
    one.drawn("graph-chart")
    page = one.page
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll(
            'button, input, select, a, summary, [role=img], [role=region]'
        )].filter((e) => {
            const by = e.getAttribute('aria-labelledby');
            const other = by ? document.getElementById(by)?.textContent : e.labels?.[0]?.textContent;
            const text = e.getAttribute('aria-label') || other || e.textContent;
            return !text.trim();
        }).map((e) => e.outerHTML.slice(0, 80))"""
    )
    assert unnamed == []
    levels = page.eval_on_selector_all(
        "section:not([hidden]) :is(h1, h2, h3, h4)", "found => found.map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert page.get_attribute("html", "lang") == "en"


CONTRAST = """() => {
    const style = getComputedStyle(document.documentElement);
    const light = (name) => {
        const hex = style.getPropertyValue('--' + name).trim().slice(1);
        const parts = [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
        const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const ratio = (a, b) => {
        const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
        return (x + 0.05) / (y + 0.05);
    };
    const pairs = [['text', 'page'], ['dim', 'page'], ['dim', 'panel'], ['dim', 'soft'], ['accent', 'panel']];
    for (const tone of ['broken', 'warning', 'tolerated', 'holds', 'unchecked'])
        pairs.push([tone, tone + '-soft'], [tone, 'panel']);
    return pairs.map(([a, b]) => [a, b, ratio(a, b)]).filter(([, , found]) => found < 4.5);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(visit, report, scheme):
    page = visit(report, color_scheme=scheme).page
    assert page.get_attribute("html", "data-theme") == scheme
    assert page.evaluate(CONTRAST) == []


def test_dark_mode_by_hand(visit, report):
    one = visit(report, color_scheme="light")
    page = one.page
    one.drawn("plot")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    one.drawn("plot")


def test_prints(visit, report):
    one = visit(report, color_scheme="dark")
    one.drawn("plot")
    one.page.emulate_media(media="print")
    assert not one.page.is_visible("#search")
    assert one.page.is_visible("#detail")
    assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(one.page.pdf()) > 50_000


def test_small_screens_do_not_scroll_sideways(visit, report):
    one = visit(report)
    one.page.set_viewport_size({"width": 380, "height": 800})
    one.page.wait_for_timeout(400)
    one.drawn("plot")
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 380


def test_discovery_with_a_history(visit, tmp_path):
    cities = ["Hoboken", "Hoboken", "New York", "New York"]
    found = rowlaw.discover(
        pa.table({"zip": ["1", "1", "2", "2"], "city": cities, "age": [1, 2, 3, 4]}), progress=False
    )
    at = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
    batches = [
        SimpleNamespace(number=n, id=None, at=at, inserted=n, deleted=0, added=n, removed=n % 2, rules=9 + n)
        for n in range(4)
    ]
    rows = ({"id": "7", "city": HOSTILE}, {"id": "8", "city": "x"})
    events = [SimpleNamespace(kind="retired", id="R9", rule=rowlaw.parse("key (city)"), batch=batches[2], witness=rows)]
    write_report(tmp_path / "laws.html", found, title="homes", history=SimpleNamespace(batches=batches, events=events))
    one = visit(tmp_path / "laws.html")
    one.drawn("history-chart")
    one.drawn("graph-chart")
    assert one.page.inner_text("h1") == f"{found.total} laws found"
    assert HOSTILE in one.page.inner_text("#history-events")
    assert "Born and retired" in one.page.inner_text("nav")


DIRTY = pa.table(
    {
        "id": list(range(40)),
        "zip": [i // 4 for i in range(40)],
        "city": [f"c{i // 4}" if i not in (9, 22) else "wrong" for i in range(40)],
        "state": [f"s{i // 8}" for i in range(40)],
    }
)


def test_causes_and_suggestions_come_first(visit, tmp_path):
    result = rowlaw.check(DIRTY, ["fd (zip) -> city", "fd (city) -> state", "key (id)"], progress=False)
    result.to_html(tmp_path / "dirty.html", title="dirty.csv")
    page = visit(tmp_path / "dirty.html").page
    assert page.inner_text("#verdict-text") == f"{result.causes()}."
    order = page.eval_on_selector_all("main > section:not([hidden])", "found => found.map(s => s.id)")
    assert order[:5] == ["verdict", "causes", "suspects", "profile", "rules"]
    causes = page.locator("#causes-table tbody tr").all_inner_texts()
    assert len(causes) == 2
    assert "wrong → c2" in causes[0] + causes[1]
    suspects = [line.split() for line in page.locator("#suspects-table tbody tr").all_inner_texts()]
    assert {(line[0], line[1], line[2], line[3]) for line in suspects} == {
        ("9", "city", "wrong", "c2"),
        ("22", "city", "wrong", "c5"),
    }
    assert page.evaluate(
        "(() => { const nav = document.getElementById('nav'); return nav.scrollWidth <= nav.clientWidth; })()"
    )
    assert page.locator("#nav a").all_inner_texts()[:3] == ["Causes", "Suspects", "Columns"]
    columns = page.locator("#profile-table tbody tr").all_inner_texts()
    assert len(columns) == 4
    assert "unique" in columns[0]
    page.click("#causes-table .link >> nth=0")
    assert page.inner_text("#detail-title") in ("R1", "R2")
    page.click('#strip i[data-id="R3"]')
    assert page.inner_text("#detail-title") == "R3"
    assert page.evaluate("document.activeElement.id") == "detail"


OVERLAPS = """() => {
    const boxes = [...document.querySelectorAll('#graph-chart .node')].map((g) => g.getBBox());
    const within = (a, b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
    return boxes.filter((a, i) => boxes.some((b, j) => i < j && within(a, b))).length;
}"""


@pytest.mark.parametrize("width", [1280, 400])
def test_labels_of_the_graph_never_overlap(visit, report, width):
    one = visit(report)
    page = one.page
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(300)
    assert page.get_attribute("#graph-chart", "data-laws") == "12"
    assert page.evaluate(OVERLAPS) == 0
    page.click("#graph-more button")
    assert page.get_attribute("#graph-chart", "data-laws") == "24"
    assert page.locator("#graph-chart .node").count() > 10
    assert page.evaluate(OVERLAPS) == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A report of 2,000 rules."""
    random = np.random.default_rng(1)
    table = pa.table({f"c{i:02}": random.integers(0, 50, 300) for i in range(46)})
    names = table.column_names
    texts = [f"fd ({a}) -> {b}" for a in names for b in names if a != b][:2000]
    path = tmp_path_factory.mktemp("many") / "many.html"
    rowlaw.check(table, texts, progress=False).to_html(path, title="many.csv")
    return path


def test_two_thousand_rules(visit, many):
    assert many.stat().st_size <= MOST_BYTES
    one = visit(many)
    page = one.page
    shown = len(ids(page))
    assert shown >= 1000
    assert page.inner_text("h1") == "2,000 of 2,000 rules broken"
    assert page.evaluate("document.getElementById('strip').getBoundingClientRect().height") < 60
    box = page.evaluate(
        "(() => { const b = document.getElementById('list').getBoundingClientRect(); return [b.height, "
        "innerHeight]; })()"
    )
    assert 0.8 * box[1] < box[0] <= box[1]  # the list uses the height of the window
    page.fill("#search", "c07 c11")
    assert 0 < len(ids(page)) < 20
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_no_rules_at_all(visit, tmp_path):
    write_report(tmp_path / "empty.html", RuleSet())
    one = visit(tmp_path / "empty.html")
    assert one.page.inner_text("h1") == "0 laws"
    assert not one.page.is_visible("#rules")
    assert "Rules" not in one.page.locator("#nav a").all_inner_texts()


def test_a_search_that_stopped_before_the_first_law(visit, tmp_path):
    found = rowlaw.discover(pa.table({"a": [1, 1, 2], "b": [1, 2, 1]}), kinds="fd", progress=False)
    write_report(tmp_path / "early.html", replace(found, rules=(), total=0, partial=True))
    page = visit(tmp_path / "early.html").page
    assert page.inner_text("h1") == "0 laws found"
    assert page.inner_text("#verdict-text").startswith(
        "The search stopped early, before a law was proven. Give it more time with --time-limit"
    )


def test_long_names_break_at_their_underscores(visit, tmp_path):
    table = pa.table({"measure_code": [1, 1, 2], "measure_description_of_the_year": ["a" * 40, "b" * 40, "c"]})
    rowlaw.check(table, "fd (measure_code) -> measure_description_of_the_year", progress=False).to_html(
        tmp_path / "long.html"
    )
    one = visit(tmp_path / "long.html")
    label = one.page.locator("#detail .card tbody th", has_text="measure_description").first
    assert label.inner_text() == "measure_description_of_the_year"
    assert label.locator("wbr").count() == 4
    one.drawn("plot")
    assert "1 clash of rule R1" in one.page.get_attribute("#plot svg", "aria-label")


def test_suggestions_are_seen_on_a_small_screen(visit, tmp_path):
    """Long values are cut before they differ, and neither the values nor the suggestions lie outside of the screen."""
    long = "patients who were given a medicine against their illness before they came: "
    names = [f"{long}{'aspirin' if i else 'axpirin'}" for i in range(8)]
    table = pa.table({"measure code": ["pn-3b"] * 8, "measure name": names})
    with_one = rowlaw.check(table, "fd (`measure code`) -> `measure name`", progress=False)
    with_one.to_html(tmp_path / "report.html")
    page = visit(tmp_path / "report.html").page
    page.set_viewport_size({"width": 400, "height": 850})
    for section in ("#suspects-table", "#causes-table"):
        assert "axpirin" in page.inner_text(section)
        assert "aspirin" in page.inner_text(section)
        assert (
            page.evaluate("id => document.querySelector(id + ' table').getBoundingClientRect().right", section) <= 400
        )
    with_one.close()


def test_ids_of_several_columns_on_a_narrow_screen(visit, tmp_path):
    """The id of a row keeps to a line or two, whatever else its table shows."""
    rows = 8
    ids = {"month": list(range(1, rows + 1)), "carrier": ["UA"] * rows, "origin": ["JFK"] * rows}
    table = pa.table({**ids, "zip": ["07030"] * rows, "city": ["Hoboken"] * (rows - 1) + ["Jersey City"]})
    with_one = rowlaw.check(table, "fd (zip) -> city", row_id=tuple(ids), progress=False)
    with_one.to_html(tmp_path / "report.html")
    with_one.close()
    page = visit(tmp_path / "report.html").page
    assert "1 pair of the worst rows; 14 violations in all" in page.inner_text("#detail")
    page.set_viewport_size({"width": 400, "height": 850})
    for section in ("#suspects-table", "#causes-table"):
        cell = page.locator(f"{section} tbody td").first
        assert cell.inner_text() == "month=8, carrier=UA, origin=JFK"
        assert cell.bounding_box()["height"] < 60
        assert page.evaluate("id => document.querySelector(id + ' table').scrollWidth", section) <= 400
