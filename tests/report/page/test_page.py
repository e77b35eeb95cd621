#!/usr/bin/python3
"""Opens the page of `weir report` in Chromium and uses it: test_page.py PAGE

PAGE: report_page.html of the build, into which this program puts made-up data (fixture.py). Needs Debian's packages
chromium-driver and python3-selenium; without them the exit status is 77.
"""
import json
import os
import pathlib
import shutil
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import Select
except ImportError:
    print("needs python3-selenium")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fixture  # noqa: E402

ALL = fixture.SECONDS * fixture.PER_SECOND
WIDTHS = (1280, 400)


def open_browser():
    driver_path = shutil.which("chromedriver")
    if not driver_path:
        print("needs chromium-driver")
        sys.exit(77)
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    if os.geteuid() == 0:  # the browser's own sandbox refuses root
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=webdriver.chrome.service.Service(driver_path), options=options)


class Page:
    def __init__(self, browser, template, folder):
        self.browser, self.template, self.folder = browser, template, folder

    def open(self, name, data, width=1280):
        """As the report does: no raw < in the data."""
        text = json.dumps(data)
        for char in "<>&\u2028\u2029":
            text = text.replace(char, f"\\u{ord(char):04x}")
        path = self.folder / (name + ".html")
        path.write_text(self.template.replace("WEIR_DATA", text))
        self.resize(width)
        self.browser.get(path.as_uri())

    def resize(self, width):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def find(self, name):
        return self.browser.find_element(By.ID, name)

    def text(self, name):
        return self.find(name).text

    def choose(self, name, value):
        Select(self.find(name)).select_by_visible_text(value)

    def write(self, name, text):
        self.run("const e = document.getElementById(arguments[0]); e.value = arguments[1];"
                 "e.dispatchEvent(new Event('input'))", name, text)

    def selected(self):
        """The number of selected samples."""
        return int("".join(c for c in self.text("count").split(" of ")[0] if c.isdigit()))

    def drag(self, name, from_part, to_part):
        """From one place of an element to another; parts of its width and height."""
        element = self.find(name)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        width, height = element.size["width"], element.size["height"]
        places = [(int((x - 0.5) * width), int((y - 0.5) * height)) for x, y in (from_part, to_part)]
        ActionChains(self.browser, duration=20).move_to_element_with_offset(element, *places[0]).click_and_hold() \
            .move_to_element_with_offset(element, *places[1]).release().perform()

    def click_frame(self, name):
        """On the frame of that name in the flame graph."""
        box = self.run("const f = weirPage.flame, b = f.boxes.find((b) => f.label(b.node) === arguments[0]);"
                       "return [b.x + b.w / 2, b.depth * 18 + 9]", name)
        flame = self.find("flame")
        self.run("arguments[0].scrollIntoView({block: 'center'})", flame)
        ActionChains(self.browser, duration=20).move_to_element_with_offset(
            flame, int(box[0] - flame.size["width"] / 2), int(box[1] - flame.size["height"] / 2)).click().perform()

    def frames(self):
        return self.run("return weirPage.flame.boxes.map((b) => [weirPage.flame.label(b.node), Math.round(b.w)])")

    def table(self, title):
        return self.run("return [...[...document.querySelectorAll('#tables table')].find((t) => t.caption.textContent "
                        "=== arguments[0]).tBodies[0].rows].map((r) => [...r.cells].map((c) => c.textContent))", title)


def equal(what, found, expected):
    if found != expected:
        raise AssertionError(f"{what}: {found!r}, expected {expected!r}")


def expect_unharmed(page):
    equal("console", page.browser.get_log("browser"), [])
    equal("hostile names that ran", page.run("return window.hacked === undefined"), True)
    equal("elements made of names", page.run("return document.querySelectorAll('img, iframe, a').length"), 0)
    equal("scripts", page.run("return document.scripts.length"), 2)


def test_header(page):
    page.open("header", fixture.one())
    equal("title", page.browser.title, "perf.data \u2014 weir report")
    facts = page.text("facts")
    for part in ("host" + fixture.HOSTILE, "4 \u00d7 A CPU", "6.18.0", "5.000 s", "weir record " + fixture.HOSTILE):
        equal(f"'{part}' in the header", part in facts, True)
    equal("losses", page.text("losses-sum"),
          "perf.data: 30 samples lost, from 1.500 s to 1.600 s; most on CPU 1 (30).")
    equal("remedies", page.text("remedies"), "-m 16M " + fixture.HOSTILE)
    equal("selected", page.selected(), ALL)
    equal("curves of the timeline", page.run("return document.querySelectorAll('#timeline .uplot').length"), 4)
    expect_unharmed(page)


def test_frame_zooms(page):
    page.open("zoom", fixture.one())
    whole = dict(map(tuple, page.frames()))
    page.click_frame("do_read")
    zoomed = dict(map(tuple, page.frames()))
    equal("width of the frame", zoomed["do_read"], whole["all"])
    equal("frames beside it", "spin" in zoomed, False)
    page.find("unzoom").click()
    equal("frames after zooming out", dict(map(tuple, page.frames())), whole)
    page.run("document.querySelector('#flame-kinds [data-key=callees]').click()")
    inverse = page.frames()
    equal("outermost of the inverse", {name for name, _ in inverse[1:]} >= {"spin", "copy_page"}, True)
    of_spin = [width for name, width in inverse[1:] if name == "spin"]
    equal("spin outermost, and once more as its own caller", len(of_spin), 2)
    share = float(next(row[0] for row in page.table("Symbols") if row[-1] == "spin").split()[0])
    equal("width of spin", abs(of_spin[0] / inverse[0][1] - share / 100) < 0.01, True)
    equal("width of the fifth that spin has called", abs(of_spin[1] * 5 - of_spin[0]) <= 4, True)
    second = [name for name, _ in inverse].index("spin", [name for name, _ in inverse].index("spin") + 1)
    equal("main, which has called that fifth", inverse[second + 1], ["main", inverse[second][1]])
    page.write("search", "COPY_")
    equal("found", page.text("found"),
          page.table("Symbols")[[r[-1] for r in page.table("Symbols")].index("copy_page")][0] + " found")
    expect_unharmed(page)


def test_ranges_select(page):
    page.open("ranges", fixture.one())
    page.drag("scope", (0.21, 0.001), (0.39, 0.999))
    equal("one second of FlameScope's map", page.selected(), fixture.PER_SECOND)
    equal("its tasks", sum(int(row[1]) for row in page.table("Tasks")), fixture.PER_SECOND)
    page.find("reset").click()
    equal("after reset", page.selected(), ALL)
    page.drag("heat", (0.06, 0.05), (0.99, 0.2))
    equal("CPU", page.find("cpu").get_attribute("value"), "0")
    equal("symbols of CPU 0", [row[-1] for row in page.table("Symbols")], ["spin"])
    equal("samples of CPU 0 alone", page.selected() <= ALL // fixture.CPUS and page.selected() > ALL // 5, True)
    for kind, value in (("losses", 30), ("fill", 1000)):
        page.run("document.querySelector(`#heat-kinds [data-key=${arguments[0]}]`).click()", kind)
        cells = page.run("const h = weirPage.heat; return [...h.values].map((v, i) => [v, i % h.columns / h.columns,"
                         "Math.floor(i / h.columns)]).filter((cell) => cell[0] > 0 && cell[0] !== 150)")
        equal(kind + " in second 1 of CPU 1", {(int(x * fixture.SECONDS), row) for _, x, row in cells}, {(1, 1)})
        most = max(cell[0] for cell in cells) if kind == "fill" else sum(cell[0] for cell in cells)
        equal("value of " + kind, most, value)
    expect_unharmed(page)


def test_filters(page):
    page.open("filters", fixture.one())
    for text, samples in (("worker", ALL // 2), ("201", ALL // 2), ("100", ALL // 2), ("</SCRIPT>", ALL // 2),
                          ("none", 0)):
        page.write("task", text)
        equal("samples of task " + text, page.selected(), samples)
    page.write("task", "")
    page.write("cpu", "1-2")
    equal("samples of CPUs", page.selected(), ALL // 2)
    page.choose("node", "1")
    equal("samples of CPU 2 alone", page.selected(), ALL // 4)
    page.find("reset").click()
    page.choose("weight", "samples")
    raw = fixture.recording()["tables"]
    equal("samples of the first symbol", int(page.table("Symbols")[0][1]),
          max(sum(n for n, frame in zip(raw["samples"], raw["frame"]) if frame == f) for f in set(raw["frame"])))
    expect_unharmed(page)


def test_difference(page):
    page.open("two", fixture.two())
    grew = {row[-1]: float(row[0].split()[0]) for row in page.table("Symbols")}
    equal("less in the kernel", grew["copy_page"] < 0, True)
    equal("as much in spin", grew["spin"], 0)
    equal("selected of both", page.selected(), 2 * ALL)
    page.choose("side", "before")
    before = dict(map(tuple, page.frames()))
    page.choose("side", "after")
    after = dict(map(tuple, page.frames()))
    equal("a narrower frame", after["copy_page"] < before["copy_page"], True)
    expect_unharmed(page)


def test_coarse_samples(page):
    page.open("coarse", fixture.coarse())
    equal("samples", page.selected(), ALL)
    for name in ("heat", "scope"):
        equal("samples of " + name, page.run("return weirPage[arguments[0]].values.reduce((a, b) => a + b)", name), ALL)
    lit = page.run("return weirPage.scope.values.filter((v) => v > 0).length")
    equal("offsets inside of seconds", lit, fixture.SECONDS * 50)
    equal("note", page.text("stack-note"),
          "There are more stacks than a page holds: all are cut to their outermost calls.")
    page.drag("scope", (0.21, 0.001), (0.39, 0.999))
    equal("a second", page.selected(), fixture.PER_SECOND)
    expect_unharmed(page)


def test_bare_samples(page):
    page.open("bare", fixture.bare())
    equal("samples", page.selected(), ALL)
    equal("note", page.text("stack-note"), "This event has no call chains: a stack is the function of the sample.")
    equal("losses", page.find("losses").is_displayed(), False)
    equal("timeline", page.find("timeline-section").is_displayed(), False)
    equal("tables", len(page.table("Symbols")) > 0, True)
    expect_unharmed(page)


# Times stand at round numbers, below the cells.
def test_heatmaps_have_an_axis(page):
    page.open("axis", fixture.one())
    steps = page.run("return [0.13, 1, 1.2, 4.9, 70].map(roundStep)")
    equal("steps", [round(step, 9) for step in steps], [0.2, 1, 2, 5, 100])
    for name in ("heat", "scope"):
        heights = page.run("const map = weirPage[arguments[0]], height = parseFloat(map.canvas.style.height);"
                           " return [height - AXIS_HEIGHT, map.rows * map.rowHeight, map.spanNs > 0]", name)
        equal("height of " + name, heights[0], heights[1])
        equal("span of " + name, heights[2], True)
    expect_unharmed(page)


def test_sweep(page):
    page.open("sweep", fixture.sweep())
    equal("curves", page.run("return document.querySelectorAll('#curves .uplot').length"), 4)
    equal("points", page.run("return document.querySelectorAll('#sweep-table tbody tr').length"), 6)
    equal("recording", page.find("recording").is_displayed(), False)
    expect_unharmed(page)


def test_fits_wide_and_narrow(page):
    for name, data in (("one", fixture.one()), ("two", fixture.two()), ("sweep", fixture.sweep())):
        for width in WIDTHS:
            page.open(name, data, width)
            equal(f"width of {name} at {width}", page.run("return document.documentElement.scrollWidth"), width)
            expect_unharmed(page)


def main():
    template = pathlib.Path(sys.argv[1]).read_text()
    failed = 0
    browser = open_browser()
    with tempfile.TemporaryDirectory() as folder:
        page = Page(browser, template, pathlib.Path(folder))
        for name, test in list(globals().items()):
            if not name.startswith("test_"):
                continue
            try:
                test(page)
                print("passed ", name[5:])
            except Exception as error:  # the next case tells more
                failed += 1
                print("FAILED ", name[5:], ": ", error, sep="")
    browser.quit()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
