"""The report in a real browser: Debian's Chromium without a screen. Without a Chromium there is nothing here to
collect."""

import importlib.util
import os
import shutil

import pytest

CHROMIUM = os.environ.get("ROWLAW_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

collect_ignore_glob = [] if CHROMIUM and importlib.util.find_spec("playwright") else ["test_*.py"]


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium's own sandbox needs rights that a container seldom gives; the only page it opens is ours.
        found = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield found
        found.close()


class Visit:
    """A page, and everything that should not have happened on it."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.requests, self.complaints = [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on(
            "console",
            lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None,
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.address = path.resolve().as_uri()
        self.page.goto(self.address)
        self.page.wait_for_function("document.documentElement.dataset.ready === 'yes'")

    def drawn(self, chart):
        """Wait until a chart is drawn."""
        self.page.wait_for_function("id => document.getElementById(id)?.dataset.drawn === 'yes'", arg=chart)

    def close(self):
        assert self.complaints == []
        assert self.requests == [self.address]
        self.context.close()


@pytest.fixture
def visit(browser):
    """Opens a report; at the end nothing may have been fetched, logged or thrown."""
    visits = []

    def start(path, **options):
        visits.append(Visit(browser, path, **options))
        return visits[-1]

    yield start
    for one in visits:
        one.close()
