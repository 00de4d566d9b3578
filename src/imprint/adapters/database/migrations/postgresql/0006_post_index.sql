-- The index: what the marketplace's events say, for lists, totals and search. It decides nothing,
-- and is rebuilt from the chain at any time. A place is the number of a block times 2^20 plus the
-- index of the log in it, so it has the order of the chain. Amounts are decimal texts, because they
-- reach up to 2^256; prices are 32 bytes, the highest first, so that they sort. Texts of authors
-- are bytes: they may be no UTF-8.

-- Which chain and contract the index is of, from which block on, the last block in it, and the last
-- one that cannot be undone.
CREATE TABLE index_state (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    chain_id BIGINT NOT NULL,
    contract TEXT COLLATE "C" NOT NULL,
    first_block BIGINT NOT NULL,
    block_number BIGINT,
    block_hash TEXT COLLATE "C",
    final_block BIGINT NOT NULL DEFAULT -1,
    final_hash TEXT COLLATE "C",
    complete BIGINT NOT NULL DEFAULT 0
);

-- The logs in blocks that a reorg may replace.
CREATE TABLE index_logs (
    place BIGINT PRIMARY KEY,
    block_hash TEXT COLLATE "C" NOT NULL
);

-- Rows as they were before a block that a reorg may replace; before is NULL if there was none.
CREATE TABLE index_undo (
    block_number BIGINT NOT NULL,
    table_name TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    before TEXT COLLATE "C",
    PRIMARY KEY (block_number, table_name, key)
);

CREATE TABLE posts (
    place BIGINT PRIMARY KEY,
    post_id TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    cid TEXT COLLATE "C",
    spelled_cid BYTEA NOT NULL,
    thumbnail_cid BYTEA NOT NULL,
    title BYTEA NOT NULL,
    description BYTEA NOT NULL,
    hashtags TEXT COLLATE "C" NOT NULL,
    first_price BYTEA NOT NULL,
    price BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    block_hash TEXT COLLATE "C" NOT NULL,
    tx_hash TEXT COLLATE "C" NOT NULL,
    sales BIGINT NOT NULL DEFAULT 0,
    volume TEXT COLLATE "C" NOT NULL DEFAULT '0',
    holders BIGINT NOT NULL DEFAULT 0
);

CREATE UNIQUE INDEX posts_by_id ON posts (post_id);
CREATE INDEX posts_by_author ON posts (author, place);
CREATE INDEX posts_by_sales ON posts (sales, place);
CREATE INDEX posts_by_price ON posts (price, place);

CREATE TABLE post_tags (
    tag TEXT COLLATE "C" NOT NULL,
    place BIGINT NOT NULL,
    PRIMARY KEY (tag, place)
);

CREATE INDEX post_tags_by_place ON post_tags (place);

CREATE TABLE purchases (
    place BIGINT PRIMARY KEY,
    post_id TEXT COLLATE "C" NOT NULL,
    author TEXT COLLATE "C" NOT NULL,
    buyer TEXT COLLATE "C" NOT NULL,
    price TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    block_hash TEXT COLLATE "C" NOT NULL,
    tx_hash TEXT COLLATE "C" NOT NULL
);

CREATE INDEX purchases_by_author ON purchases (author, place);
CREATE INDEX purchases_by_buyer ON purchases (buyer, place);

CREATE TABLE price_changes (
    place BIGINT PRIMARY KEY,
    post_id TEXT COLLATE "C" NOT NULL,
    price TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL
);

CREATE INDEX price_changes_by_post ON price_changes (post_id, place);

-- arrived is the place of the transfer that began the holding; paid is NULL unless it was bought.
CREATE TABLE holdings (
    holder TEXT COLLATE "C" NOT NULL,
    post_id TEXT COLLATE "C" NOT NULL,
    balance TEXT COLLATE "C" NOT NULL,
    held BIGINT NOT NULL,
    arrived BIGINT NOT NULL,
    arrived_at BIGINT NOT NULL,
    paid TEXT COLLATE "C",
    PRIMARY KEY (holder, post_id)
);

CREATE INDEX holdings_by_arrival ON holdings (holder, arrived) WHERE held = 1;

-- What an address did as an author (posts, sales, worth of its first prices, readers who hold a
-- post of it) and as a reader (purchases, posts that it holds).
CREATE TABLE accounts (
    address TEXT COLLATE "C" PRIMARY KEY,
    posts BIGINT NOT NULL DEFAULT 0,
    first_post_at BIGINT,
    last_post_at BIGINT,
    sales BIGINT NOT NULL DEFAULT 0,
    volume TEXT COLLATE "C" NOT NULL DEFAULT '0',
    worth TEXT COLLATE "C" NOT NULL DEFAULT '0',
    readers BIGINT NOT NULL DEFAULT 0,
    purchases BIGINT NOT NULL DEFAULT 0,
    spent TEXT COLLATE "C" NOT NULL DEFAULT '0',
    held BIGINT NOT NULL DEFAULT 0
);

CREATE INDEX accounts_of_authors ON accounts (address) WHERE posts > 0;

-- How many posts of an author a reader holds.
CREATE TABLE author_readers (
    author TEXT COLLATE "C" NOT NULL,
    reader TEXT COLLATE "C" NOT NULL,
    held BIGINT NOT NULL,
    PRIMARY KEY (author, reader)
);

-- day counts from 1970-01-01, UTC.
CREATE TABLE market_days (
    day BIGINT PRIMARY KEY,
    posts BIGINT NOT NULL DEFAULT 0,
    sales BIGINT NOT NULL DEFAULT 0,
    volume TEXT COLLATE "C" NOT NULL DEFAULT '0'
);

CREATE TABLE market_totals (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    posts BIGINT NOT NULL DEFAULT 0,
    authors BIGINT NOT NULL DEFAULT 0,
    readers BIGINT NOT NULL DEFAULT 0,
    users BIGINT NOT NULL DEFAULT 0,
    sales BIGINT NOT NULL DEFAULT 0,
    volume TEXT COLLATE "C" NOT NULL DEFAULT '0',
    worth TEXT COLLATE "C" NOT NULL DEFAULT '0'
);

INSERT INTO market_totals (only_row) VALUES (1);

-- Words of title, hashtags and description of every post, and of the text of free ones, folded
-- before they are stored. folded has a line for each of the first three, and body has the text:
-- phrases are looked up in them, because a tsvector forgets positions above 16383.
CREATE TABLE post_search (
    place BIGINT PRIMARY KEY,
    bucket BIGINT NOT NULL,
    folded TEXT COLLATE "C" NOT NULL,
    body TEXT COLLATE "C" NOT NULL DEFAULT '',
    words TSVECTOR NOT NULL
);

CREATE INDEX post_search_by_word ON post_search USING gin (words);

-- The newest places before one whose posts have all terms. terms are queries for the index over words,
-- patterns the parts of folded texts that they stand for, both in the same order and separated by line
-- breaks. In the index, each word of a post begins with the number of the post's bucket and ~, which
-- the terms have only as ~: a bucket is then searched without the others. That matters because the
-- index returns all matches in no order, and collects all posts for a beginning of a word first.
-- The newest posts are looked at themselves as long as one in ten matches, then the index is asked
-- for one bucket after another, the newest first. Terms that more than one in thirty of the newest
-- posts has are then compared with what the others find, unless all terms are so frequent.
-- Connections of the service have bitmap scans switched off, and this index has no other ones.
CREATE FUNCTION newest_matches(terms TEXT, patterns TEXT, before BIGINT, wanted BIGINT)
RETURNS SETOF BIGINT LANGUAGE plpgsql STABLE SET enable_bitmapscan = on
AS $$
DECLARE
    query TEXT := replace(terms, chr(10), ' & ');
    parts TEXT[] := string_to_array(patterns, chr(10));
    found BIGINT := 0;
    more BIGINT;
    hits BIGINT[];
    seen BIGINT;
    size BIGINT := 250;
    reached BIGINT := before;
    newest BIGINT;
BEGIN
    LOOP
        SELECT array_agg(n.place ORDER BY n.place DESC) FILTER (
                WHERE NOT EXISTS (
                    SELECT 1 FROM unnest(parts) AS p (part)
                    WHERE strpos(n.folded, p.part) = 0 AND strpos(n.body, p.part) = 0)),
            count(*), coalesce(min(n.place), reached)
        INTO hits, seen, reached
        FROM (
            SELECT s.place, s.folded, s.body FROM post_search s WHERE s.place < reached
            ORDER BY s.place DESC LIMIT size
        ) AS n;
        more := coalesce(cardinality(hits), 0);
        RETURN QUERY SELECT unnest(hits[: wanted - found]);
        found := found + more;
        EXIT WHEN found >= wanted OR seen < size OR more * 10 < seen;
        size := least(2000, (wanted - found) * seen / more + 100);
    END LOOP;
    IF found < wanted AND cardinality(parts) > 1 THEN
        SELECT coalesce(string_agg(c.term, ' & '), query) INTO query
        FROM (
            SELECT t.term
            FROM unnest(string_to_array(terms, chr(10)), parts) AS t (term, part), (
                SELECT s.folded, s.body FROM post_search s WHERE s.place < before
                ORDER BY s.place DESC LIMIT 250
            ) AS n
            GROUP BY t.term
            HAVING count(*) FILTER (
                WHERE strpos(n.folded, t.part) > 0 OR strpos(n.body, t.part) > 0) <= 8
        ) AS c;
    END IF;
    SELECT s.bucket INTO newest FROM post_search s WHERE s.place < reached
    ORDER BY s.place DESC LIMIT 1;
    WHILE found < wanted AND newest >= 0 LOOP
        RETURN QUERY
        WITH matching AS MATERIALIZED (
            SELECT s.place, s.folded, s.body FROM post_search s
            WHERE s.words @@ CAST(replace(query, '~', newest || '~') AS TSQUERY)
        )
        SELECT m.place FROM matching m
        WHERE m.place < reached AND NOT EXISTS (
            SELECT 1 FROM unnest(parts) AS p (part)
            WHERE strpos(m.folded, p.part) = 0 AND strpos(m.body, p.part) = 0)
        ORDER BY m.place DESC LIMIT wanted - found;
        GET DIAGNOSTICS more = ROW_COUNT;
        found := found + more;
        newest := newest - 1;
    END LOOP;
END
$$;

-- The text of free posts, for snippets, and the posts whose text is to be looked at.
CREATE TABLE post_texts (
    place BIGINT PRIMARY KEY,
    body TEXT COLLATE "C" NOT NULL
);

CREATE TABLE pending_texts (
    place BIGINT PRIMARY KEY
);

-- Private feeds of readers. token is the hash of what their addresses contain.
CREATE TABLE private_feeds (
    id TEXT COLLATE "C" PRIMARY KEY,
    owner TEXT COLLATE "C" NOT NULL,
    token TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    fetched_at BIGINT
);

CREATE UNIQUE INDEX private_feeds_by_token ON private_feeds (token);
CREATE INDEX private_feeds_by_owner ON private_feeds (owner, created_at);
