"""A report in a browser without a window, for tests."""

import contextlib
import json
import os

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

SECONDS = 120  # for all charts, on a busy machine


class Page:
    def __init__(self, driver):
        self.driver = driver

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait_for_charts(self):
        WebDriverWait(self.driver, SECONDS).until(lambda _: self.run("return document.documentElement.dataset.drawn"))

    def log(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Addresses that were asked for since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]

    def marks(self, study):
        """Of each chart in a study's section: how many marks of each kind its SVG has."""
        return self.run("""
            return [...document.querySelectorAll(`#${arguments[0]} figure`)].map((figure) => {
              const counts = {};
              for (const group of figure.querySelectorAll("svg .role-mark")) {
                const kind = /mark-(\\w+)/.exec(group.getAttribute("class"))[1];
                if (kind !== "group" && group.children.length) counts[kind] = (counts[kind] ?? 0) + group.children.length;
              }
              return counts;
            });""", study)

    def table(self, selector):
        """The cells of a table, its head first."""
        return self.run("""
            return [...document.querySelector(arguments[0]).querySelector("table").rows].map(
              (row) => [...row.cells].map((cell) => cell.textContent));""", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector)

    def click(self, selector, text):
        self.run("""
            const buttons = [...document.querySelectorAll(`${arguments[0]} button`)];
            buttons.find((button) => button.textContent === arguments[1]).click();""", selector, text)


@contextlib.contextmanager
def opened(file, folder, width=1200, scheme="light"):
    """`folder`: where the browser may keep what it writes."""
    options = webdriver.ChromeOptions()
    for option in ("--headless=new", "--disable-dev-shm-usage", f"--user-data-dir={folder}/profile"):
        options.add_argument(option)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium's sandbox refuses root
    options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}]})  # a scroll is over when it returns
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                               {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
        page = Page(driver)
        driver.get("about:blank")
        page.requests()
        driver.get(file.as_uri())
        page.wait_for_charts()
        yield page
    finally:
        driver.quit()
