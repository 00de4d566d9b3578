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

-- The newest places before one whose posts match all terms, which are queries of one or more words,
-- and have all phrases; both are separated by line breaks. The index over words gives matches in no
-- order, and all of them. So the newest posts are looked at first, as long as at least one in a
-- hundred matches (of several terms, one in three hundred). Then the index is asked for the newest
-- bucket, then for the eight before it, and so on: not many more matches are read than are wanted.
-- It is not asked for terms that more than one in fifty of the newest posts has, unless all are so
-- frequent: that takes longer than comparing them. Connections of the service have bitmap scans
-- switched off, and this index has no other ones.
CREATE FUNCTION newest_matches(terms TEXT, phrases TEXT, before BIGINT, wanted BIGINT)
RETURNS SETOF BIGINT LANGUAGE plpgsql STABLE SET enable_bitmapscan = on
AS $$
DECLARE
    query TSQUERY := CAST(replace(terms, chr(10), ' & ') AS TSQUERY);
    rare TSQUERY := query;
    parts TEXT[] := string_to_array(phrases, chr(10));
    found BIGINT := 0;
    more BIGINT;
    hits BIGINT[];
    seen BIGINT;
    size BIGINT := 1000;
    least_share BIGINT := CASE WHEN position(chr(10) IN terms) > 0 THEN 300 ELSE 100 END;
    reached BIGINT := before;
    newest BIGINT;
    span BIGINT := 1;
BEGIN
    LOOP
        SELECT array_agg(n.place ORDER BY n.place DESC) FILTER (
                WHERE n.words @@ query AND NOT EXISTS (
                    SELECT 1 FROM unnest(parts) AS p (part)
                    WHERE strpos(n.folded, p.part) = 0 AND strpos(n.body, p.part) = 0)),
            count(*), coalesce(min(n.place), reached)
        INTO hits, seen, reached
        FROM (
            SELECT * FROM post_search s WHERE s.place < reached ORDER BY s.place DESC LIMIT size
        ) AS n;
        more := coalesce(cardinality(hits), 0);
        RETURN QUERY SELECT unnest(hits[: wanted - found]);
        found := found + more;
        EXIT WHEN found >= wanted OR seen < size OR more * least_share < seen;
        size := least(10000, (wanted - found) * seen / more + 1000);
    END LOOP;
    IF found < wanted AND position(chr(10) IN terms) > 0 THEN
        WITH counted AS (
            SELECT t.term, count(*) FILTER (WHERE n.words @@ CAST(t.term AS TSQUERY)) AS posts
            FROM unnest(string_to_array(terms, chr(10))) AS t (term), (
                SELECT s.words FROM post_search s WHERE s.place < before
                ORDER BY s.place DESC LIMIT 1000
            ) AS n
            GROUP BY t.term
        )
        SELECT coalesce(CAST(string_agg(c.term, ' & ') AS TSQUERY), query) INTO rare
        FROM counted c WHERE c.posts <= 20;
    END IF;
    SELECT s.bucket INTO newest FROM post_search s WHERE s.place < reached
    ORDER BY s.place DESC LIMIT 1;
    WHILE found < wanted AND newest >= 0 LOOP
        RETURN QUERY
        WITH matching AS MATERIALIZED (
            SELECT s.place, s.words, s.folded, s.body FROM post_search s
            WHERE s.words @@ (rare && (
                SELECT CAST(string_agg('''~' || b || '''', '|') AS TSQUERY)
                FROM generate_series(greatest(newest - span + 1, 0), newest) AS b))
        )
        SELECT m.place FROM matching m
        WHERE m.place < reached AND m.words @@ query AND NOT EXISTS (
            SELECT 1 FROM unnest(parts) AS p (part)
            WHERE strpos(m.folded, p.part) = 0 AND strpos(m.body, p.part) = 0)
        ORDER BY m.place DESC LIMIT wanted - found;
        GET DIAGNOSTICS more = ROW_COUNT;
        found := found + more;
        newest := newest - span;
        span := span * 8;
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
