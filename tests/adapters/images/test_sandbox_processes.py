"""Sandboxed processes are started on demand, confined, replaced after failures, and ended."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image
from tests.adapters.images.pictures import ALICE, BOB, refusal_of, write

from imprint.adapters.images.sandbox import MAX_OF_SIGNER, MAX_WAITING, SandboxedRecoder
from imprint.domain.errors import Code, RateLimited, Refusal, Unavailable
from imprint.domain.formats.addresses import Address

PNG, JPEG = (write(Image.new("RGB", (48, 32), "teal"), form) for form in ("PNG", "JPEG"))


def width_of(image: bytes) -> int:
    return Image.open(io.BytesIO(image)).width


@pytest.fixture
async def fresh() -> AsyncIterator[SandboxedRecoder]:
    """An unused recoder, for tests that tamper with its process."""
    opened = SandboxedRecoder()
    yield opened
    await opened.close()


ROOT = Path(__file__).parents[3]

SCRIPT_HEAD = """
import os, socket, sys, time
wire = socket.socket(fileno=0)
stream = wire.makefile("rb")
"""
"""The first lines of a misbehaving script."""


@pytest.fixture
async def misbehaving(
    tmp_path: Path,
) -> AsyncIterator[Callable[[str], SandboxedRecoder]]:
    opened = []

    def start(behaviour: str) -> SandboxedRecoder:
        script = tmp_path / "sandbox.py"
        script.write_text(SCRIPT_HEAD + behaviour)
        opened.append(SandboxedRecoder(script=script, wall_limit=10.0))
        return opened[-1]

    yield start
    for recoder in opened:
        await recoder.close()


ACCEPT = 'stream.read(int.from_bytes(stream.read(4))); wire.sendall(b"a"); '


@pytest.mark.parametrize(
    "behaviour",
    [
        "os.kill(os.getpid(), 11)",
        "sys.exit(0)",
        "time.sleep(60)",
        'wire.sendall(b"r\\xff\\xff\\xff\\xff"); time.sleep(60)',
        'wire.sendall(b"r\\0\\0\\0\\x09short")',
        'wire.sendall(b"r\\0\\0\\0\\x04<svg"); time.sleep(60)',
        'wire.sendall(b"?\\0\\0\\0\\0"); time.sleep(60)',
    ],
)
async def test_an_image_that_crashes_its_process_is_invalid(
    misbehaving: Callable[[str], SandboxedRecoder], behaviour: str
) -> None:
    assert await refusal_of(misbehaving(ACCEPT + behaviour), PNG) is Code.INVALID_IMAGE


async def test_a_process_that_cannot_start_is_reported_as_overload(
    misbehaving: Callable[[str], SandboxedRecoder],
) -> None:
    with pytest.raises(Unavailable) as refused:
        await misbehaving("sys.exit(1)").recode(PNG, ALICE)
    assert refused.value.code is Code.OVERLOADED


def children() -> set[int]:
    """Return the ids of the running child processes of this process.

    The kernel's own list, /proc/self/task/*/children, may be incomplete while processes
    start or end.
    """
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            # The name may contain spaces. The fields after it are the state, the parent, …
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(path.parent.name))
    return found


async def test_a_process_is_started_by_the_first_image_and_then_reused() -> None:
    before = children()
    recoder = SandboxedRecoder()
    assert children() <= before
    await recoder.recode(PNG, ALICE)
    first = children() - before
    assert len(first) == 1
    await recoder.recode(JPEG, ALICE)
    await refusal_of(recoder, b"\x89PNG\r\n\x1a\n")
    assert children() - before == first
    await recoder.close()
    assert children() <= before


def limits_of(process: int) -> dict[str, str]:
    lines = Path(f"/proc/{process}/limits").read_text().splitlines()
    return {line[:26].strip(): line[26:].split()[0] for line in lines}


async def test_a_recoder_process_is_confined(fresh: SandboxedRecoder) -> None:
    before = children()
    await fresh.recode(PNG, ALICE)
    (process,) = children() - before
    soft_limits = limits_of(process)
    assert soft_limits["Max address space"] == str(512 * 1024 * 1024)
    assert soft_limits["Max open files"] == "3"
    assert soft_limits["Max file size"] == "0"
    assert soft_limits["Max core file size"] == "0"
    assert int(soft_limits["Max cpu time"]) <= 7


async def test_a_killed_process_is_replaced(fresh: SandboxedRecoder) -> None:
    before = children()
    await fresh.recode(PNG, ALICE)
    (process,) = children() - before
    os.kill(process, signal.SIGKILL)
    assert width_of(await fresh.recode(PNG, ALICE)) == 48
    assert process not in children()


async def test_cancelling_an_image_ends_its_process_and_the_next_image_succeeds(
    fresh: SandboxedRecoder,
) -> None:
    before = children()
    await fresh.recode(PNG, ALICE)
    (process,) = children() - before
    os.kill(process, signal.SIGSTOP)  # it does not finish before it is cancelled
    noise = Image.frombytes("L", (2000, 2000), os.urandom(4_000_000))
    running = asyncio.ensure_future(fresh.recode(write(noise, "PNG", compress_level=0), ALICE))
    await asyncio.sleep(0.03)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert width_of(await fresh.recode(PNG, ALICE)) == 48
    assert process not in children()


async def test_closing_ends_running_processes(
    misbehaving: Callable[[str], SandboxedRecoder],
) -> None:
    before = children()
    recoder = misbehaving(ACCEPT + "time.sleep(60)")
    running = [asyncio.ensure_future(recoder.recode(PNG, ALICE)) for _ in range(3)]
    await asyncio.sleep(0.1)
    await recoder.close()
    for outcome in await asyncio.gather(*running, return_exceptions=True):
        assert isinstance(outcome, Unavailable)
    assert children() <= before


async def test_a_closed_recoder_is_unavailable(fresh: SandboxedRecoder) -> None:
    await fresh.close()
    with pytest.raises(Unavailable):
        await fresh.recode(PNG, ALICE)


async def test_images_beyond_the_queue_limit_raise_unavailable(
    misbehaving: Callable[[str], SandboxedRecoder],
) -> None:
    recoder = misbehaving(ACCEPT + "time.sleep(60)")
    signers = [Address(f"0x{number:040x}") for number in range(MAX_WAITING)]
    waiting = [asyncio.ensure_future(recoder.recode(PNG, signer)) for signer in signers]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await recoder.recode(PNG, ALICE)
    await recoder.close()
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_several_concurrent_images_are_all_recoded() -> None:
    recoder = SandboxedRecoder(processes=2)
    images = [write(Image.new("L", (40 + number, 9)), "PNG") for number in range(8)]
    signers = [Address(f"0x{number:040x}") for number in range(8)]
    recoded = await asyncio.gather(*map(recoder.recode, images, signers))
    assert [width_of(image) for image in recoded] == list(range(40, 48))
    await recoder.close()


async def test_images_of_different_signers_are_recoded_in_turn(fresh: SandboxedRecoder) -> None:
    done: list[Address] = []

    async def recode(signer: Address) -> None:
        await fresh.recode(PNG, signer)
        done.append(signer)

    await asyncio.gather(*map(recode, [ALICE, ALICE, ALICE, BOB, BOB]))
    assert done == [ALICE, BOB, ALICE, BOB, ALICE]


async def test_a_signer_with_too_many_images_is_rate_limited_but_others_are_not(
    fresh: SandboxedRecoder,
) -> None:
    held = [asyncio.ensure_future(fresh.recode(PNG, ALICE)) for _ in range(MAX_OF_SIGNER)]
    await asyncio.sleep(0)
    with pytest.raises(RateLimited):
        await fresh.recode(PNG, ALICE)
    assert width_of(await fresh.recode(PNG, BOB)) == 48
    assert [width_of(image) for image in await asyncio.gather(*held)] == [48] * MAX_OF_SIGNER
    assert width_of(await fresh.recode(PNG, ALICE)) == 48


async def test_a_process_inherits_no_environment_variables(
    misbehaving: Callable[[str], SandboxedRecoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMPRINT_JWT_SECRET", "s" * 32)
    collect = 'names = ",".join(os.environ).encode(); '
    send = 'wire.sendall(b"i" + len(names).to_bytes(4) + names); time.sleep(60)'
    with pytest.raises(Refusal) as refused:
        await misbehaving(ACCEPT + collect + send).recode(PNG, ALICE)
    assert set(refused.value.detail.split(",")) <= {"PYTHONPATH", "LC_CTYPE"}


KILLED_SERVICE = """
import asyncio, os, sys
from tests.adapters.images.pictures import ALICE
from tests.adapters.images.test_sandbox_processes import children
from imprint.adapters.images.sandbox import SandboxedRecoder

async def main():
    await SandboxedRecoder().recode(sys.stdin.buffer.read(), ALICE)
    print(*children(), flush=True)
    os.kill(os.getpid(), 9)

asyncio.run(main())
"""
"""Script of a service that recodes an image, prints the ids of its processes, and is killed."""


def is_running(process: int) -> bool:
    try:
        return "Z (zombie)" not in Path(f"/proc/{process}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_process_ends_when_the_service_is_killed() -> None:
    service = subprocess.run(
        [sys.executable, "-c", KILLED_SERVICE],
        input=PNG,
        capture_output=True,
        check=False,
        cwd=ROOT,
    )
    assert service.returncode == -signal.SIGKILL
    processes = [int(each) for each in service.stdout.split()]
    assert processes, service.stderr
    deadline = time.monotonic() + 30
    while any(map(is_running, processes)):
        assert time.monotonic() < deadline, "a process outlived the service"
        time.sleep(0.02)


def test_the_service_itself_does_not_load_pillow() -> None:
    program = "import sys, imprint.adapters.images.sandbox; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
