"""Content identifiers: any spelling in, CIDv1 in base32 out."""

from typing import NewType

Cid = NewType("Cid", str)
"""A CIDv1 in lower-case base32, checked: one text for one content."""
