"""Compare image recoding in the sandbox with Pillow in-process.

Run it with `python -m bench.micro.images`. Figures are the best of several rounds. The two
methods take turns, so that other work on the machine matters little.
"""

import asyncio
import io
import random
import time
from collections.abc import Awaitable, Callable

from PIL import Image

from imprint.adapters.images.recoder import recode
from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.domain.formats.addresses import Address

ROUNDS = 9
"""Number of recodings per image and method."""

SIZES = ((320, 240), (1280, 720), (4000, 3000))


def draw(size: tuple[int, int], form: str) -> bytes:
    """Return an image with about as much detail as a photograph."""
    noise = Image.frombytes("L", (64, 64), random.Random(1).randbytes(4096))
    out = io.BytesIO()
    noise.resize(size, Image.Resampling.BICUBIC).convert("RGB").save(out, form)
    return out.getvalue()


async def milliseconds(run: Callable[[bytes], Awaitable[bytes]], image: bytes) -> float:
    """Return the time to recode an image once, in milliseconds."""
    began = time.perf_counter()
    await run(image)
    return (time.perf_counter() - began) * 1000


async def recode_in_process(image: bytes) -> bytes:
    """Run the sandbox's code in this process."""
    return recode(image)


async def main() -> None:
    """Measure starting a process, and recoding PNG and JPEG images of three sizes."""
    recoder = SandboxedRecoder()

    async def recode_in_sandbox(image: bytes) -> bytes:
        return await recoder.recode(image, Address("0x" + "00" * 20))

    first = await milliseconds(recode_in_sandbox, draw((1, 1), "PNG"))
    print(f"first image, which starts the process: {first:.0f} ms")
    for form in ("PNG", "JPEG"):
        for size in SIZES:
            image = draw(size, form)
            sandboxed, in_process = [], []
            for _ in range(ROUNDS):
                sandboxed.append(await milliseconds(recode_in_sandbox, image))
                in_process.append(await milliseconds(recode_in_process, image))
            label = f"{form} {size[0]} x {size[1]}, {len(image) // 1000} kB"
            figures = f"sandbox {min(sandboxed):7.1f} ms  in process {min(in_process):7.1f} ms"
            print(f"{label:28} {figures}")
    await recoder.close()


if __name__ == "__main__":
    asyncio.run(main())
