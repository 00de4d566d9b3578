"""Images: how large a thumbnail may be; the protocol's numbers."""

MAX_IMAGE_BYTES = 5_000_000
"""How many bytes an image may have when it comes in."""

MAX_IMAGE_PIXELS = 16_000_000
"""How many pixels it may have: those of a good camera, 64 MB when decoded."""
