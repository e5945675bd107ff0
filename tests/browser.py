"""A real browser without a window, driven by Selenium: Debian's Chromium and its driver."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ("headless=new", "no-sandbox", "disable-gpu", "no-first-run", "disable-dev-shm-usage")


def find_browser():
    """The path of a Chromium or Chrome, named by BLOCKWOLFE_BROWSER or on the PATH; or None."""
    return os.environ.get("BLOCKWOLFE_BROWSER") or next(
        filter(None, map(shutil.which, NAMES)), None
    )


def find_driver():
    """The path of its driver, named by BLOCKWOLFE_DRIVER or on the PATH; or None."""
    return os.environ.get("BLOCKWOLFE_DRIVER") or shutil.which("chromedriver")


class Browser:
    """One page of one browser process, which ends with the `with` block."""

    def __init__(self, profile, patience=60.0):
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = find_browser()
        for flag in (*FLAGS, f"user-data-dir={profile}"):
            options.add_argument(f"--{flag}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # The driver is named, so that Selenium neither looks for one nor downloads one.
        service = webdriver.ChromeService(executable_path=find_driver())
        self.driver = webdriver.Chrome(options=options, service=service)
        self.driver.set_page_load_timeout(patience)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.quit()

    def open(self, path, width=1200, height=900, dark=False):
        """Load a file in a window of a size, in a colour scheme; forget earlier complaints."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.complaints()
        self.driver.get(Path(path).resolve().as_uri())  # (returns when the page is complete)

    def run(self, script):
        """The value of a JavaScript expression."""
        return self.driver.execute_script(f"return ({script}\n)")

    def hover(self, selector, across=0.5, down=0.5, scroll=True):
        """Move the mouse over an element, scrolled into view."""
        from selenium.webdriver import ActionChains

        found = self._found(selector, scroll)
        width, height = self.run(
            f"(r => [r.width, r.height])(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        offset = round((across - 0.5) * width), round((down - 0.5) * height)
        ActionChains(self.driver, duration=0).move_to_element_with_offset(found, *offset).perform()

    def click(self, selector):
        """Click in the middle of an element, scrolled into view."""
        self._found(selector).click()

    def _found(self, selector, scroll=True):
        if scroll:
            self.run(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        return self.driver.find_element("css selector", selector)

    def press(self, key):
        """Press a key, named as Selenium does: "END", "ARROW_LEFT"."""
        from selenium.webdriver import ActionChains, Keys

        ActionChains(self.driver).send_keys(getattr(Keys, key)).perform()

    def complaints(self):
        """Errors on the console, exceptions, and requests for anything but files; since last asked."""
        console = [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return console + [url for url in asked if not url.startswith(("file:", "data:"))]

    def screenshot(self, path):
        """Take a picture of the window."""
        self.driver.save_screenshot(str(path))
