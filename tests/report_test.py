"""`samplenorm report`: the page of all studies, opened in a browser."""

import csv
import io
import os
import pathlib
import re
import statistics
import subprocess
import time

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import report_page
import study_records as records

PROGRAM = pathlib.Path(os.environ["SAMPLENORM_BUILD"]) / "bin/samplenorm"
HOSTILE = ["<img src=x onerror=\"document.title='hacked'\">", "</script><script>document.title='hacked'</script>"]


def report(*options, cwd=None):
    return subprocess.run([PROGRAM, "report", *map(str, options)], capture_output=True, text=True, cwd=cwd)


def made(folder, *options):
    """The report of the records in `folder`."""
    file = folder.parent / f"{folder.name}.html"
    result = report(folder, *options, "-o", file)
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{file}\n"
    return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "records"
    records.write_studies(folder)
    return made(folder)


@pytest.fixture(scope="module")
def page(whole, tmp_path_factory):
    with report_page.opened(whole, tmp_path_factory.mktemp("browser")) as opened:
        yield opened


def test_it_opens_without_errors_and_asks_nobody_for_anything(page, whole):
    assert page.requests() == [whole.as_uri()]
    assert page.log() == []
    assert page.texts(".problem") == []


def test_all_studies_are_there_in_order(page):
    sections = page.run('return [...document.querySelectorAll("section")].map((each) => each.id)')
    assert sections == ["runs", "claims", *records.STUDIES]
    assert page.texts("#date") == ["Records from 2025-03-04 to 2025-03-05."]


def test_every_run_of_the_program_is_listed(page):
    head, *rows = page.table("#runs")
    assert len(rows) == 2 * len(records.STUDIES)
    row = dict(zip(head, rows[0]))
    assert row["study"] == "accuracy" and row["CPU"] == "A Processor of Four Cores" and row["threads"] == "2"
    assert row["commit"] == "0123456789ab" and row["load average at the begin"] == "0.25"
    assert row["command"] == "samplenorm study accuracy --quick --out records"


def test_every_claim_has_a_verdict(page):
    head, *rows = page.table("#claims")
    verdicts = [row[head.index("verdict")][1:] for row in rows]
    assert len(rows) > 5
    assert set(verdicts) <= {"holds here", "does not hold here", "cannot be run here", "not run yet"}
    counts = [re.fullmatch(r".(\d+) (.*)", text) for text in page.texts("#claims .badges .badge")]
    assert {count[2]: int(count[1]) for count in counts} == {verdict: verdicts.count(verdict) for verdict in set(verdicts)}


LAYERS, ERROR_NORMS, CURVE_NORMS = len(records.LAYERS), 4, 5
BARS = {"rect": 5, "text": 5, "rule": 1}
MARKS = {
    "cost": [{"rect": 4, "text": 4}] * 2,
    # Eight norms beside BN, in six families; BN's line, interval and name.
    "accuracy": [{"symbol": 8, "line": 6, "rule": 8 + 1, "rect": 1, "text": 1}],
    "curves": [{"line": CURVE_NORMS, "symbol": 30 * CURVE_NORMS}, {"line": CURVE_NORMS, "symbol": 4 * CURVE_NORMS}],
    # Boxes have a rule, a bar and a tick each.
    "error": [{"rule": ERROR_NORMS, "rect": 2 * ERROR_NORMS}, *[{"rule": LAYERS, "rect": 2 * LAYERS}] * ERROR_NORMS,
              *[{"rect": LAYERS * LAYERS}] * ERROR_NORMS, {"line": 3 * 3, "symbol": 3 * 3 * 4}, {"line": 1, "symbol": 5}],
    "speed": [BARS] * 4,
    "regularity": [BARS, BARS, {"rect": 12, "text": 12, "rule": 1}, {"rect": 12, "text": 12, "rule": 1}],
    "decay": [{"symbol": 5, "line": 1, "rule": 5}],
    "micro": [{"rect": 5, "text": 5, "rule": 5}],
    "demo": [{"line": 3, "symbol": 90}],
}


@pytest.mark.parametrize("study", MARKS)
def test_charts_have_their_marks(page, study):
    assert page.marks(study) == MARKS[study]


def test_seeds_become_a_mean_with_a_95_percent_interval(tmp_path):
    top1 = [0.80, 0.82, 0.87]
    runs = [records.run("BN", seed) | {"top1": value} for seed, value in zip(records.SEEDS, top1)]
    single = records.run("LS-1/64", 1) | {"top1": 0.81}
    records.write_study(tmp_path / "few", "accuracy", [*runs, single, records.failed_run("NS-1/128", 1)])
    with report_page.opened(made(tmp_path / "few"), tmp_path) as opened:
        head, *rows = opened.table("#accuracy")
        assert opened.marks("accuracy") == [{"symbol": 1, "line": 1, "rule": 1, "rect": 1, "text": 1}]
        assert opened.texts("#accuracy .failures li") == [f"NS-1/128, seed 1: did not finish: {records.FAILED}"]
    shown = {row[0]: dict(zip(head, row)) for row in rows}
    half = 4.303 * statistics.stdev(top1) / 3 ** 0.5
    assert shown["BN"]["top-1 as trained"] == f"{100 * statistics.mean(top1):.2f} ± {100 * half:.2f}\u00a0%"
    assert shown["LS-1/64"]["top-1 as trained"] == "81.00\u00a0%"
    assert shown["LS-1/64"]["to BN, points"] == "−2.00"
    assert shown["NS-1/128"]["top-1 as trained"] == "did not finish" and shown["NS-1/128"]["seeds"] == "0 of 1"


def test_the_other_accuracy_can_be_chosen(page):
    heights = 'return [...document.querySelectorAll("#micro svg .mark-text.role-mark text")].map((each) => each.textContent)'
    trained = page.run(heights)
    page.click("#micro", "recalibrated")
    page.wait_for_charts()
    recalibrated = page.run(heights)
    page.click("#micro", "as trained")
    page.wait_for_charts()
    head, *rows = page.table("#micro")
    assert trained == [row[head.index("top-1 as trained")] for row in rows]
    assert recalibrated == [row[head.index("top-1 recalibrated")] for row in rows]


def test_a_click_in_the_legend_singles_a_curve_out(page):
    faint = 'return [...document.querySelectorAll("#demo svg .mark-line.role-mark path")].map((each) => each.getAttribute("opacity"))'
    before = page.run(faint)
    entry = page.driver.find_elements(By.CSS_SELECTOR, "#demo svg .role-legend-label text")[0]
    page.run("arguments[0].scrollIntoView({ block: 'center' })", entry)
    entry.click()
    time.sleep(0.5)
    assert len(set(before)) == 1 and sorted(page.run(faint)) == sorted(["1", "0.12", "0.12"])


def test_the_theme_button_changes_page_and_charts(page):
    def colours():
        return page.run("""return [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,
            getComputedStyle(document.querySelector("#cost svg")).backgroundColor,
            document.querySelector("#cost svg .mark-text.role-mark text").getAttribute("fill")]""")
    light = colours()
    page.click("header", "Dark theme")
    page.wait_for_charts()
    dark = colours()
    assert all(one != other for one, other in zip(light, dark))
    assert page.marks("cost") == MARKS["cost"]
    page.click("header", "Light theme")
    page.wait_for_charts()
    assert colours() == light


def test_the_system_chooses_the_theme_first(whole, tmp_path):
    with report_page.opened(whole, tmp_path, scheme="dark") as opened:
        assert opened.run("return document.documentElement.dataset.theme") == "dark"


def test_a_phone_does_not_scroll_sideways(whole, tmp_path):
    with report_page.opened(whole, tmp_path, width=390) as opened:
        opened.run('document.querySelectorAll("details").forEach((each) => { each.open = true; })')
        assert opened.run("return [innerWidth, document.documentElement.scrollWidth]") == [390, 390]
        widest = opened.run('return Math.max(...[...document.querySelectorAll("figure svg")].map((each) => each.getBoundingClientRect().right))')
        assert widest <= 390


def copied(page, section):
    """The rows that a click on the button of a section's table puts on the clipboard."""
    # A real click: browsers let only users copy.
    copy = page.driver.find_element(By.CSS_SELECTOR, f"#{section} .table button")
    page.run("arguments[0].scrollIntoView({ block: 'center' })", copy)  # at the top the contents would cover it
    copy.click()
    WebDriverWait(page.driver, 10, poll_frequency=0.1).until(lambda _: copy.text == "Copied")
    page.run("document.body.insertAdjacentHTML('afterbegin', '<textarea id=\"paste\"></textarea>')")
    page.driver.find_element(By.ID, "paste").send_keys(Keys.CONTROL, "v")
    return list(csv.reader(io.StringIO(page.run("const area = document.getElementById('paste'); area.remove(); return area.value"))))


@pytest.mark.parametrize("clipboard, study", [("there", "cost"), ("refused", "decay")])
def test_a_table_is_copied_as_csv(page, clipboard, study):
    if clipboard == "refused":
        page.run("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
    plain = [[cell.replace("−", "-").replace("\u00a0", " ") for cell in row] for row in page.table(f"#{study}")]
    assert copied(page, study) == plain


def test_notes_of_claims_are_folded_and_copied_without_their_handle(page):
    assert page.run('return [...document.querySelectorAll("#claims details")].filter((each) => each.open).length') == 0
    head, *rows = copied(page, "claims")
    notes = [row[head.index("note")] for row in rows]
    assert any("Command: samplenorm study" in note for note in notes) and not any(note.startswith("note") for note in notes)


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_chart_is_saved(whole, tmp_path, kind):
    with report_page.opened(whole, tmp_path) as opened:
        opened.click("#cost", f"Save as {kind.upper()}")
        end = time.monotonic() + 30
        while not (saved := list(tmp_path.glob(f"*.{kind}"))) and time.monotonic() < end:
            time.sleep(0.1)
    assert [file.name for file in saved] == [f"iterations-a-second-resnet18-batch-32-112-112.{kind}"]
    content = saved[0].read_bytes()
    assert b"LS-1/64" in content if kind == "svg" else content.startswith(b"\x89PNG")


def test_texts_of_records_are_texts(tmp_path):
    folder = tmp_path / "hostile"
    for name, study in records.STUDIES.items():
        results = study()
        for text in HOSTILE:
            results += [{key: text if key in ("norm", "id", "model", "layer", "format") else value for key, value in result.items()}
                        for result in results[:1] + results[-1:]]
        records.write_study(folder, name, results, cpu=HOSTILE[0], command=HOSTILE[1])
    with report_page.opened(made(folder), tmp_path) as opened:
        assert opened.driver.title == "samplenorm report"
        assert opened.run('return document.querySelectorAll("main img, main script, nav img").length') == 0
        assert opened.log() == [] and opened.texts(".problem") == []
        for text in HOSTILE:
            assert [name for name in records.STUDIES if not any(text in cell for cell in opened.texts(f"#{name} td, #{name} h4"))] == []
            assert any(text in title for title in opened.texts("figure h4"))
        assert set(HOSTILE) <= set(opened.table("#runs")[1])
        drawn = "".join(opened.texts("#curves svg text"))
        assert "<img src=x" in drawn and "</script><script>" in drawn


def test_missing_studies_are_listed_with_their_command(tmp_path):
    records.write_studies(tmp_path / "some", ["cost", "decay"])
    result = report("some", cwd=tmp_path)
    assert (result.returncode, result.stdout) == (0, "report.html\n")
    with report_page.opened(tmp_path / "report.html", tmp_path) as opened:
        commands = opened.texts("#missing code")
        assert opened.texts("main > section > h2")[-1] == "Not run yet"
    missing = [name for name in records.STUDIES if name not in ("cost", "decay", "demo")]
    assert commands == [f"samplenorm study {name} --quick --out some" for name in missing] + ["samplenorm demo --out some"]


def test_the_same_study_of_two_folders_is_told_apart(tmp_path):
    for name in ("one", "two"):
        records.write_studies(tmp_path / name, ["demo"])
    with report_page.opened(made(tmp_path / "one", tmp_path / "two"), tmp_path) as opened:
        assert [text.split()[0] for text in opened.texts("#demo h3")] == [str(tmp_path / "one"), str(tmp_path / "two")]
        assert opened.marks("demo") == 2 * MARKS["demo"]


def test_records_that_cannot_be_shown_leave_the_rest_whole(tmp_path):
    folder = tmp_path / "odd"
    records.write_study(folder, "cost", [])
    records.write_study(folder, "speed", [{"id": "resnet18", "model": "resnet18"}])
    errors = records.error()
    del errors[0]["mean_correlation"]
    records.write_study(folder, "error", errors)
    records.write_studies(folder, ["demo"])
    with report_page.opened(made(folder), tmp_path) as opened:
        assert opened.texts("#cost .note") == ["Started, but no result is there yet."]
        assert len(opened.texts("#speed .problem")) == len(opened.texts("#error .problem")) == 1
        assert opened.marks("demo") == MARKS["demo"] and opened.log() == []


@pytest.mark.parametrize("options, status, words", [
    ([], 2, "DIR"),
    (["somewhere", "--nonsense"], 2, "nonsense"),
    (["nowhere"], 1, "there is no folder nowhere"),
    (["."], 1, "no study"),
])
def test_wrong_use_and_failures_are_said_in_a_sentence(tmp_path, options, status, words):
    result = report(*options, cwd=tmp_path)
    assert result.returncode == status and words in result.stderr
    assert status == 2 or len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_help_has_an_example():
    result = report("--help")
    assert result.returncode == 0 and "samplenorm report results/studies -o report.html" in result.stdout
