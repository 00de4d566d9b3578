"""An Ethereum chain inside the process, for development and tests, and its sender of deliveries."""

import sys

import eth_account  # noqa: F401 — imported here first, so that what it does can be undone

# A package that eth_account imports lets Python recurse a hundred times deeper, in the whole
# process. A JSON body of nothing but brackets would then overflow the stack and end the process
# instead of raising RecursionError. One thousand is what Python starts with.
sys.setrecursionlimit(1_000)
