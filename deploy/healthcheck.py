"""Container health check: exits with 0 if the service responds at /healthz."""

import http.client
import os
import sys

SECONDS = 4.0
"""Response timeout."""


def is_alive(port: int) -> bool:
    """Whether the service on this local port responds with 200 at /healthz."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(0 if is_alive(int(os.environ.get("IMPRINT_PORT") or "8000")) else 1)
