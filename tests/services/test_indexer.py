"""The indexer makes the index agree with the chain, whatever nodes show and processes do."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import REGISTRY
from tests.adapters.catalog.conftest import Records
from tests.services.conftest import ALICE, BOB, DEPTH
from tests.services.scripted_chain import (
    CHAIN,
    MARKET,
    Said,
    ScriptedChain,
    SeveralNodes,
    copy_chain,
    say_bought,
    say_created,
    say_priced,
    say_tagged,
    say_transferred,
)
from tests.world import MovableClock

