-- The index: what the marketplace's events say, for lists, totals and search. It decides nothing,
-- and is rebuilt from the chain at any time. A place is the number of a block times 2^20 plus the
-- index of the log in it, so it has the order of the chain. Amounts are decimal texts, because they
-- reach up to 2^256; prices are 32 bytes, the highest first, so that they sort. Texts of authors
-- are bytes: they may be no UTF-8.

-- Which chain and contract the index is of, from which block on, the last block in it, and the last
-- one that cannot be undone.
CREATE TABLE index_state (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    chain_id INTEGER NOT NULL,
    contract TEXT NOT NULL,
    first_block INTEGER NOT NULL,
    block_number INTEGER,
    block_hash TEXT,
    final_block INTEGER NOT NULL DEFAULT -1,
    final_hash TEXT,
    complete INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The logs in blocks that a reorg may replace.
CREATE TABLE index_logs (
    place INTEGER PRIMARY KEY,
    block_hash TEXT NOT NULL
) STRICT;

-- Rows as they were before a block that a reorg may replace; before is NULL if there was none.
CREATE TABLE index_undo (
    block_number INTEGER NOT NULL,
    table_name TEXT NOT NULL,
    key TEXT NOT NULL,
    before TEXT,
    PRIMARY KEY (block_number, table_name, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE posts (
    place INTEGER PRIMARY KEY,
    post_id TEXT NOT NULL,
    author TEXT NOT NULL,
    cid TEXT,
    spelled_cid BLOB NOT NULL,
    thumbnail_cid BLOB NOT NULL,
    title BLOB NOT NULL,
    description BLOB NOT NULL,
    hashtags TEXT NOT NULL,
    first_price BLOB NOT NULL,
    price BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    tx_hash TEXT NOT NULL,
    sales INTEGER NOT NULL DEFAULT 0,
    volume TEXT NOT NULL DEFAULT '0',
    holders INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX posts_by_id ON posts (post_id);
CREATE INDEX posts_by_author ON posts (author, place);
CREATE INDEX posts_by_sales ON posts (sales, place);
CREATE INDEX posts_by_price ON posts (price, place);

CREATE TABLE post_tags (
    tag TEXT NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (tag, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX post_tags_by_place ON post_tags (place);

CREATE TABLE purchases (
    place INTEGER PRIMARY KEY,
    post_id TEXT NOT NULL,
    author TEXT NOT NULL,
    buyer TEXT NOT NULL,
    price TEXT NOT NULL,
    at INTEGER NOT NULL,
    block_hash TEXT NOT NULL,
    tx_hash TEXT NOT NULL
) STRICT;

CREATE INDEX purchases_by_author ON purchases (author, place);
CREATE INDEX purchases_by_buyer ON purchases (buyer, place);

CREATE TABLE price_changes (
    place INTEGER PRIMARY KEY,
    post_id TEXT NOT NULL,
    price TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX price_changes_by_post ON price_changes (post_id, place);

-- arrived is the place of the transfer that began the holding; paid is NULL unless it was bought.
CREATE TABLE holdings (
    holder TEXT NOT NULL,
    post_id TEXT NOT NULL,
    balance TEXT NOT NULL,
    held INTEGER NOT NULL,
    arrived INTEGER NOT NULL,
    arrived_at INTEGER NOT NULL,
    paid TEXT,
    PRIMARY KEY (holder, post_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX holdings_by_arrival ON holdings (holder, arrived) WHERE held = 1;

-- What an address did as an author (posts, sales, worth of its first prices, readers who hold a
-- post of it) and as a reader (purchases, posts that it holds).
CREATE TABLE accounts (
    address TEXT PRIMARY KEY,
    posts INTEGER NOT NULL DEFAULT 0,
    first_post_at INTEGER,
    last_post_at INTEGER,
    sales INTEGER NOT NULL DEFAULT 0,
    volume TEXT NOT NULL DEFAULT '0',
    worth TEXT NOT NULL DEFAULT '0',
    readers INTEGER NOT NULL DEFAULT 0,
    purchases INTEGER NOT NULL DEFAULT 0,
    spent TEXT NOT NULL DEFAULT '0',
    held INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX accounts_of_authors ON accounts (address) WHERE posts > 0;

-- How many posts of an author a reader holds.
CREATE TABLE author_readers (
    author TEXT NOT NULL,
    reader TEXT NOT NULL,
    held INTEGER NOT NULL,
    PRIMARY KEY (author, reader)
) STRICT, WITHOUT ROWID;

-- day counts from 1970-01-01, UTC.
CREATE TABLE market_days (
    day INTEGER PRIMARY KEY,
    posts INTEGER NOT NULL DEFAULT 0,
    sales INTEGER NOT NULL DEFAULT 0,
    volume TEXT NOT NULL DEFAULT '0'
) STRICT;

CREATE TABLE market_totals (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    posts INTEGER NOT NULL DEFAULT 0,
    authors INTEGER NOT NULL DEFAULT 0,
    readers INTEGER NOT NULL DEFAULT 0,
    users INTEGER NOT NULL DEFAULT 0,
    sales INTEGER NOT NULL DEFAULT 0,
    volume TEXT NOT NULL DEFAULT '0',
    worth TEXT NOT NULL DEFAULT '0'
) STRICT;

INSERT INTO market_totals (only_row) VALUES (1);

-- Words of title, hashtags and description of every post, and of the text of free ones. They are
-- folded before they are stored, so the tokenizer only separates them at spaces: for this one all
-- characters above ASCII are parts of words. A rowid is a place.
CREATE VIRTUAL TABLE post_search USING fts5 (
    title, hashtags, description, body, tokenize = 'ascii', prefix = '2 3 4 5 6'
);

-- The text of free posts, for snippets, and the posts whose text is to be looked at.
CREATE TABLE post_texts (
    place INTEGER PRIMARY KEY,
    body TEXT NOT NULL
) STRICT;

CREATE TABLE pending_texts (
    place INTEGER PRIMARY KEY
) STRICT;

-- Private feeds of readers. token is the hash of what their addresses contain.
CREATE TABLE private_feeds (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    token TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    fetched_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX private_feeds_by_token ON private_feeds (token);
CREATE INDEX private_feeds_by_owner ON private_feeds (owner, created_at);
