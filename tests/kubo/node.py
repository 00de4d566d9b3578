"""A real Kubo node on loopback, with a temporary repository."""

import asyncio
import json
import os
import re
import signal
from base64 import b32encode
from pathlib import Path

from imprint.domain.formats.cids import Cid, cid_bytes

BINARY = Path(__file__).parents[2] / ".tools" / "ipfs"
START_TIMEOUT = 90.0


class KuboNode:
    """One node, isolated unless `swarm` is set, which lets it connect to neighbours on loopback."""

    def __init__(self, folder: Path, swarm: bool = False, authorization: str = "") -> None:
        self.folder = folder
        self.api = ""
        self._swarm = swarm
        self._authorization = authorization
        self._process: asyncio.subprocess.Process | None = None
        # It must not use a repository in the home folder, nor send anything to anybody.
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "IPFS_PATH": str(folder / "repo"),
            "IPFS_TELEMETRY": "off",
        }

    async def prepare(self) -> None:
        """Create the repository if there is none."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "repo").exists():
            await self.run("init", "--empty-repo", "--profile=test")
            self._write_settings()

    async def start(self) -> None:
        await self.prepare()
        self._process = await asyncio.create_subprocess_exec(
            str(BINARY),
            "daemon",
            "--migrate=false",
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(START_TIMEOUT):
            await self._wait_until_ready()

    def _write_settings(self) -> None:
        """Make the node listen only on loopback, on its own ports, and not search for peers."""
        path = self.folder / "repo" / "config"
        settings = json.loads(path.read_text())
        settings["Routing"]["Type"] = "none"
        settings["Addresses"] |= {
            "API": "/ip4/127.0.0.1/tcp/0",
            "Gateway": "",
            "Swarm": ["/ip4/127.0.0.1/tcp/0"] if self._swarm else [],
        }
        if self._authorization:
            access = {"AuthSecret": self._authorization, "AllowedPaths": ["/api/v0"]}
            settings["API"]["Authorizations"] = {"imprint": access}
        path.write_text(json.dumps(settings))

    async def _wait_until_ready(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        said = []
        async for line in self._process.stdout:
            said.append(line.decode())
            if match := re.search(
                r"RPC API server listening on /ip4/127.0.0.1/tcp/(\d+)", said[-1]
            ):
                self.api = f"http://127.0.0.1:{match[1]}"
            if "Daemon is ready" in said[-1]:
                return
        raise RuntimeError("Kubo did not start: " + "".join(said))

    async def stop(self) -> None:
        if self._process is not None:
            if self._process.returncode is None:
                self._process.send_signal(signal.SIGTERM)
            await self._process.communicate()
            self._process = None

    def freeze(self) -> None:
        """Make the node accept connections but not respond."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    async def fetch(self, cid: str) -> bytes:
        """Fetch a document from this node or its neighbours."""
        return await self._run("cat", "--timeout=60s", cid)

    async def run(self, *arguments: str) -> str:
        """Run a command of the node's own client and return its output."""
        return (await self._run(*arguments)).decode().strip()

    async def _run(self, *arguments: str) -> bytes:
        process = await asyncio.create_subprocess_exec(
            str(BINARY),
            *arguments,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"ipfs {arguments[0]}: {errors.decode()}")
        return out

    def block_file(self, cid: Cid) -> Path:
        """The file in which the node stores a block: named after its multihash in upper-case
        base 32."""
        name = b32encode(cid_bytes(cid)[2:]).decode().rstrip("=")
        return self.folder / "repo" / "blocks" / name[-3:-1] / f"{name}.data"
