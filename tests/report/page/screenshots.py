#!/usr/bin/python3
"""Writes report-1280.png and report-400.png of the page with made-up data: screenshots.py PAGE FOLDER"""
import base64
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fixture  # noqa: E402
import test_page  # noqa: E402

HEIGHTS = {1280: 1900, 400: 2400}


def main():
    template, images = pathlib.Path(sys.argv[1]).read_text(), pathlib.Path(sys.argv[2])
    images.mkdir(exist_ok=True)
    browser = test_page.open_browser()
    with tempfile.TemporaryDirectory() as folder:
        page = test_page.Page(browser, template, pathlib.Path(folder))
        for width in test_page.WIDTHS:
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": "light"}]})
            page.open("demo", fixture.demo(), width)
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": HEIGHTS[width], "deviceScaleFactor": 1, "mobile": False})
            time.sleep(0.5)  # the page draws anew
            picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": False})
            (images / f"report-{width}.png").write_bytes(base64.b64decode(picture["data"]))
    browser.quit()


if __name__ == "__main__":
    main()
