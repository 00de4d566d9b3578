"""An in-process Ethereum chain for development and tests, with a webhook sender."""

import sys

import eth_account  # noqa: F401 — imported first, to undo its side effect below

# A dependency of eth_account raises the recursion limit of the whole process a hundredfold. A JSON
# body of nothing but brackets would then overflow the stack and crash the process instead of
# raising RecursionError. 1000 is Python's default.
sys.setrecursionlimit(1_000)
