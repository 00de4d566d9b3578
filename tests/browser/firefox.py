"""Debian's Firefox, driven by its own test protocol, Marionette.

Playwright can drive only its own build of Firefox, but people use builds like Debian's. One
process serves many tests: `forget` resets it. Commands wait for missing elements, up to
`PATIENCE`.
"""

import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.processes import POLL_SECONDS, Process

Found = TypeVar("Found")

PATIENCE = 60.0
"""Seconds that a test waits for a change on a page."""

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The key of an element id in WebDriver's JSON."""

ENTER = "\ue007"
"""The Enter key in WebDriver's encoding."""

PASSING = {
    "no such element",
    "stale element reference",
    "element not interactable",
    "element click intercepted",
    "javascript error",
    "unknown error",
}
"""Errors that may occur while a page is still changing."""

FIND = """
const [selector, text] = arguments;
return [...document.querySelectorAll(selector)].find((element) =>
  element.textContent.includes(text) && element.getClientRects().length > 0 && !element.disabled
) ?? null;
"""

CONSOLE = """
const [origin] = arguments;
const errors = Services.console.getMessageArray()
  .filter((message) => message instanceof Ci.nsIScriptError)
  .filter(({errorMessage, sourceName, flags}) =>
    errorMessage.startsWith("Content-Security-Policy") ||
    (sourceName.startsWith(origin) && (flags & Ci.nsIScriptError.warningFlag) === 0))
  .map(({errorMessage, sourceName}) => `${sourceName}: ${errorMessage}`);
const written = Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage)
  .getEvents()
  .filter(({level, filename}) => level === "error" && filename.startsWith(origin))
  .map(({filename, arguments: parts}) => `${filename}: ${parts.join(" ")}`);
return [...errors, ...written];
"""
"""Collects uncaught errors, policy violations, and errors logged by pages."""


FORGET = """
const [done] = arguments;
Services.console.reset();
Cc["@mozilla.org/consoleAPI-storage;1"].getService(Ci.nsIConsoleAPIStorage).clearEvents();
Services.clearData.deleteData(Ci.nsIClearDataService.CLEAR_ALL, {onDataDeleted: () => done()});
"""
"""Removes stored page data and the console log."""


class MarionetteError(Exception):
    """An error from Firefox. `kind` is WebDriver's name for the error."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class Firefox:
    """A browser with one window, controlled by WebDriver commands over Marionette's socket."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=2 * PATIENCE)
        self._reader = self._socket.makefile("rb")
        self._last = 0
        self._preferred: set[str] = set()
        self._receive()
        self.send("WebDriver:NewSession", {"capabilities": {"alwaysMatch": {}}})

    def close(self) -> None:
        """Close the connection. `open_firefox` ends the browser."""
        self._reader.close()
        self._socket.close()

    def send(self, command: str, parameters: dict[str, Any]) -> Any:
        """Send a command and return its result. Raises `MarionetteError`."""
        self._last += 1
        body = json.dumps([0, self._last, command, parameters]).encode()
        self._socket.sendall(b"%d:%b" % (len(body), body))
        _, number, error, result = self._receive()
        assert number == self._last
        if error is not None:
            raise MarionetteError(error["error"], error["message"])
        return result

    def _receive(self) -> Any:
        digits = b""
        while (digit := self._reader.read(1)) != b":":
            assert digit, "Firefox has closed the connection."
            digits += digit
        return json.loads(self._reader.read(int(digits)))

    def prefer(self, name: str, value: bool | int) -> None:
        """Change a browser setting for pages opened from now on."""
        kind = "Bool" if isinstance(value, bool) else "Int"
        self._preferred.add(name)
        self._in_chrome(f"Services.prefs.set{kind}Pref(...arguments)", name, value)

    def forget(self) -> None:
        """Reset the browser: remove page data and changed settings."""
        while self._preferred:
            self._in_chrome("Services.prefs.clearUserPref(arguments[0])", self._preferred.pop())
        self.visit("about:blank")
        with self._chrome():
            self.send("WebDriver:ExecuteAsyncScript", {"script": FORGET, "args": []})

    def problems(self, origin: str) -> list[str]:
        """Return the errors and policy violations seen so far on an origin's pages."""
        found: list[str] = self._in_chrome(CONSOLE, origin)
        return found

    def wait_for_problem(self, origin: str) -> str:
        """Wait for the first problem, which another process may report late, and return it."""

        def look() -> str:
            for problem in self.problems(origin):
                return problem
            raise MarionetteError("no such element", "no problem yet")

        return self._retry(look)

    def _in_chrome(self, script: str, *given: object) -> Any:
        with self._chrome():
            return self.run(script, *given)

    @contextmanager
    def _chrome(self) -> Iterator[None]:
        self.send("Marionette:SetContext", {"value": "chrome"})
        try:
            yield
        finally:
            self.send("Marionette:SetContext", {"value": "content"})

    def visit(self, address: str) -> None:
        """Open an address and wait until it is loaded."""
        self.send("WebDriver:Navigate", {"url": address})

    def run(self, script: str, *given: object) -> Any:
        """Return the result of a script run in the page."""
        return self.send("WebDriver:ExecuteScript", {"script": script, "args": given})["value"]

    def wait_until(self, script: str, *given: object) -> Any:
        """Run a script until its result is truthy."""

        def look() -> Any:
            result = self.run(script, *given)
            if not result:
                raise MarionetteError("no such element", f"not yet: {script} {given}")
            return result

        return self._retry(look)

    def find(self, selector: str, text: str = "") -> str:
        """Wait for a visible element with this text and return its id."""
        found: str = self.wait_until(FIND, selector, text)[ELEMENT]
        return found

    def click(self, selector: str, text: str = "") -> None:
        """Click on an element at its position, like a mouse."""
        self._retry(lambda: self.send("WebDriver:ElementClick", {"id": self.find(selector, text)}))

    def write(self, selector: str, text: str) -> None:
        """Type a text into an element."""
        self._retry(
            lambda: self.send(
                "WebDriver:ElementSendKeys", {"id": self.find(selector), "text": text}
            )
        )

    def text(self, selector: str) -> str:
        """Wait until an element is visible and return its text."""
        read = self._retry(
            lambda: self.send("WebDriver:GetElementText", {"id": self.find(selector)})
        )
        return str(read["value"])

    def _retry(self, attempt: Callable[[], Found]) -> Found:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return attempt()
            except MarionetteError as error:
                if error.kind not in PASSING or time.monotonic() > deadline:
                    raise
            time.sleep(POLL_SECONDS)


def find_firefox() -> str | None:
    """Return the path of the program, from `FIREFOX` or the search path."""
    return os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")


@contextmanager
def open_firefox(program: str, folder: Path) -> Iterator[Firefox]:
    """Run headless Firefox with a profile in an empty folder until the context exits."""
    (folder / "user.js").write_text('user_pref("marionette.port", 0);\n', encoding="utf-8")
    chosen = folder / "MarionetteActivePort"
    # As root, Firefox requires a HOME that root owns. The console is read in the chrome context,
    # which needs system access.
    process = Process(
        [
            *(program, "--headless", "--no-remote", "--profile", str(folder)),
            *("--marionette", "--remote-allow-system-access"),
        ],
        folder / "firefox.log",
        {"HOME": str(folder)},
    )
    process.start(lambda: chosen.exists() and chosen.read_text().strip().isdigit(), 3 * PATIENCE)
    try:
        with closing(Firefox(int(chosen.read_text()))) as browser:
            yield browser
    finally:
        process.kill()
