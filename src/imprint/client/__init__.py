"""Python client of the service: async, typed, with every operation.

    from imprint.client import Imprint, KeyWallet

    async with Imprint.connect("http://127.0.0.1:8000") as imprint:
        wallet = KeyWallet(private_key, imprint.node())
        draft = await imprint.create_draft(wallet, "# Hello")

It has no dependencies beyond those of the service. See `docs/clients.md`.
"""

from imprint.client.connection import Listing, Page
from imprint.client.drafts import Document, SignedWrite, verify_document
from imprint.client.imprint import Imprint
from imprint.client.marketplace import (
    POST_LIMITS,
    Receipt,
    balance_of,
    buy_many_call,
    buy_post_call,
    change_price_call,
    create_post_call,
    created_post_id,
    find_receipt,
    format_coin,
    parse_coin,
    wait_for_receipt,
)
from imprint.client.payments import InvalidOffer, Seller, TooExpensive
from imprint.client.transactions import Call, Node, Provider
from imprint.client.transport import (
    NodeError,
    Refusal,
    Reverted,
    Unconfirmed,
    Unreachable,
    WalletNeeded,
)
from imprint.client.typed_data import TypedData
from imprint.client.wallet import KeyWallet, NodeWallet, Wallet
from imprint.client.writing_session import (
    FileKeyStore,
    KeyStore,
    MemoryKeyStore,
    WritingSession,
)
from imprint.domain.errors import Code
from imprint.interface.accounts import Session, WritingSessionRecord
from imprint.interface.drafts import Content, DeletedDraft, Draft, File, Published
from imprint.interface.posts import (
    Author,
    FeedAccess,
    HeldPost,
    JsonFeed,
    Post,
    PricePoint,
    PrivateFeed,
    Sale,
    Stats,
)
from imprint.interface.problems import Problem
from imprint.interface.service import ServiceFacts
from imprint.interface.values import Wei

__all__ = [
    "Imprint",
    # signing
    "Wallet",
    "KeyWallet",
    "NodeWallet",
    "TypedData",
    "SignedWrite",
    "WritingSession",
    "KeyStore",
    "MemoryKeyStore",
    "FileKeyStore",
    # errors
    "Code",
    "Problem",
    "Refusal",
    "Unreachable",
    "Unconfirmed",
    "WalletNeeded",
    "NodeError",
    "Reverted",
    "TooExpensive",
    "InvalidOffer",
    # returned records
    "Author",
    "Content",
    "DeletedDraft",
    "Document",
    "Draft",
    "FeedAccess",
    "File",
    "HeldPost",
    "JsonFeed",
    "Listing",
    "Page",
    "Post",
    "PricePoint",
    "PrivateFeed",
    "Published",
    "Sale",
    "ServiceFacts",
    "Session",
    "Stats",
    "Wei",
    "WritingSessionRecord",
    # the chain
    "Node",
    "Provider",
    "Call",
    "Receipt",
    "POST_LIMITS",
    "create_post_call",
    "buy_many_call",
    "buy_post_call",
    "change_price_call",
    "find_receipt",
    "wait_for_receipt",
    "created_post_id",
    "balance_of",
    "Seller",
    # amounts and documents
    "format_coin",
    "parse_coin",
    "verify_document",
]
