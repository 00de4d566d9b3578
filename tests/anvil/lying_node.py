"""A proxy that hides logs of a real node or reports an earlier state of its chain."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
from tests.processes import PLAIN


@dataclass
class LyingNode:
    """Forwards calls to a node, hiding the given data and all blocks above `stops_at`."""

    node_url: str
    hides_logs: bool = False
    hides_receipts: bool = False
    """Whether to remove the logs from receipts."""
    stops_at: int | None = None
    server: ThreadingHTTPServer = field(init=False)

    def start(self) -> None:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(proxy.respond(asked)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *values: object) -> None:
                """Suppress the request log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def respond(self, asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
        calls = [self._pin(call) for call in asked]
        sent = httpx2.post(self.node_url, json=calls, timeout=20, verify=PLAIN).json()
        for call, response in zip(calls, sent, strict=True):
            if "result" in response:
                response["result"] = self._change(call, response["result"])
        return list(sent)

    def _pin(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return the call with `latest` replaced by the block at which this node stops."""
        if self.stops_at is None:
            return call
        height = hex(self.stops_at)
        params = [height if value == "latest" else value for value in call["params"]]
        return {**call, "params": params}

    def _change(self, call: dict[str, Any], result: Any) -> Any:
        if self.hides_logs and call["method"] == "eth_getLogs":
            return []
        if self.hides_receipts and call["method"] == "eth_getTransactionReceipt":
            return result and {**result, "logs": []}
        if self.stops_at is None:
            return result
        if call["method"] == "eth_blockNumber":
            return hex(self.stops_at)
        if call["method"].startswith("eth_getBlockBy") and result is not None:
            return result if int(result["number"], 16) <= self.stops_at else None
        return result
