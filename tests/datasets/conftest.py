"""A server on loopback for the tests of downloads; none of them reaches any other."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

CUT = 7
"""Bytes that a broken connection leaves out."""


class Loopback(ThreadingHTTPServer):
    """Files by their path, what was asked for, and the paths whose connections break."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.files, self.asked, self.broken = {}, [], set()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path not in self.server.files:
            self.send_error(404)
            return
        content = self.server.files[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:-CUT] if self.path in self.server.broken else content)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    """Yield a server without files; addresses other than its own are not to be reached."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("LOCALMKL_DATA_URL", raising=False)
    with Loopback() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join()
