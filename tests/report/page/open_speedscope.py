#!/usr/bin/python3
"""Opens a file in speedscope, without a window: open_speedscope.py SPEEDSCOPE FILE

SPEEDSCOPE is the folder with its index.html. Exit status 1 if it does not show the file's first profile."""
import base64
import json
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import test_page  # noqa: E402

PATIENCE_S = 30


def main():
    speedscope, path = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    profiles = json.loads(path.read_text())["profiles"]
    browser = test_page.open_browser()
    shown = ""
    with tempfile.TemporaryDirectory() as folder:
        # The way in which speedscope's own command hands over a file.
        script = pathlib.Path(folder) / "profile.js"
        script.write_text(f"speedscope.loadFileFromBase64({json.dumps(path.name)}, "
                          f"{json.dumps(base64.b64encode(path.read_bytes()).decode())})")
        browser.get(f"{(speedscope / 'index.html').as_uri()}#localProfilePath={script}")
        for _ in range(PATIENCE_S):
            shown = browser.execute_script("return document.body.innerText")
            if profiles[0]["name"] in shown:
                break
            time.sleep(1)
    canvases = browser.execute_script("return document.querySelectorAll('canvas').length")
    browser.quit()
    is_shown = profiles[0]["name"] in shown and canvases > 0
    verb = "shows" if is_shown else "does not show"
    print(f"speedscope: {verb} {profiles[0]['name']}: {' '.join(shown.split())[:120]}")
    return 0 if is_shown else 1


sys.exit(main())
