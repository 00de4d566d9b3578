"""What the flows need from outside; the docstrings are the contract that every adapter keeps.

Every method may raise `Unavailable` with the code of its dependency, and nothing else that is
not named here: adapters translate what their vendors raise, once. What requests need is named
here; `archives`, `inventory` and `sealing` hold what only few flows know of.
"""

from imprint.ports.catalog import Catalog
from imprint.ports.chain import ChainSource, DeliveryReader, MarketplaceReader
from imprint.ports.clock import Clock
from imprint.ports.content import ContentStore, ImageRecoder

__all__ = [
    "Catalog",
    "ChainSource",
    "Clock",
    "ContentStore",
    "DeliveryReader",
    "ImageRecoder",
    "MarketplaceReader",
]
