# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium (Debian's package), driven by the DevTools protocol over two
pipes: no port is opened, and nothing else is needed."""

import base64
import contextlib
import fcntl
import json
import os
import selectors
import shutil
import subprocess
import time

TIMEOUT_S = 60
CHROMIUM = shutil.which("chromium")


def pipe():
    """The ends of a pipe, as descriptors from 10 on."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return high


class Page:
    """A page of the browser."""

    def __init__(self, folder):
        there, self.commands = pipe()  # it reads commands from descriptor 3
        self.answers, back = pipe()    # and writes answers to descriptor 4
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec 3<&{there} 4>&{back} && exec "$@"', "bash", CHROMIUM,
             "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--hide-scrollbars", "--no-first-run", "--window-size=1400,700",
             f"--user-data-dir={folder}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(there, back), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there)
        os.close(back)
        self.buffer, self.number, self.session = b"", 0, None
        self.errors = []  # what scripts raised, and what the page wrote as an error
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target,
                                flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log":
            self.ask(f"{domain}.enable")

    def ask(self, method, **params):
        """Send a command; its result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while (answer := self.next_message()).get("id") != self.number:
            self.note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def next_message(self):
        ends = time.monotonic() + TIMEOUT_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.answers, selectors.EVENT_READ)
            while b"\0" not in self.buffer:
                assert selector.select(ends - time.monotonic()), "no answer in time"
                data = os.read(self.answers, 1 << 20)
                assert data, "the browser has ended"
                self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def note(self, event):
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(params["exceptionDetails"])
        elif event.get("method") == "Log.entryAdded" and \
                params["entry"]["level"] == "error":
            self.errors.append(params["entry"])

    def open(self, url):
        self.ask("Page.navigate", url=url)

    def run(self, script):
        """The value of the expression."""
        result = self.ask("Runtime.evaluate", expression=script, awaitPromise=True,
                          returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, script, what=None):
        """Wait until the expression gives something true, and return that."""
        ends = time.monotonic() + TIMEOUT_S
        while not (value := self.run(script)):
            assert time.monotonic() < ends, \
                f"waited in vain for {what or script}: {self.run('document.body.innerText')}"
            time.sleep(0.05)
        return value

    def click(self, selector):
        """Click on the middle of an element, with the mouse."""
        x, y = self.wait(f"""(() => {{
            const e = document.querySelector({json.dumps(selector)});
            if (!e) return null;
            e.scrollIntoView({{block: "nearest", inline: "nearest"}});
            const box = e.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""", selector)
        for kind in "mousePressed", "mouseReleased":
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                     clickCount=1)

    def key(self, name):
        """Press a key, as KeyboardEvent.key names it, or the character."""
        text = {"text": name} if len(name) == 1 else {}
        for kind in "keyDown", "keyUp":
            self.ask("Input.dispatchKeyEvent", type=kind, key=name,
                     **(text if kind == "keyDown" else {}))

    def picture(self, path):
        """Save what is to be seen as PNG."""
        data = self.ask("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(data))


@contextlib.contextmanager
def browser(folder):
    """A page, whose browser ends with the block."""
    page = Page(folder)
    try:
        yield page
    finally:
        os.close(page.commands)
        os.close(page.answers)
        page.process.kill()
        page.process.wait()
