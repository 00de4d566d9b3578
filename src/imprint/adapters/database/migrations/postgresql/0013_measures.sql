-- Every decision of the operator, in order; nothing is ever changed or removed. What is in force
-- follows from it: a decision lasts until everything about its target is undone.
CREATE TABLE measure_log (
    id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    measure TEXT COLLATE "C" NOT NULL
        CHECK (measure IN ('unlisted', 'withheld', 'refused', 'allowed', 'undone')),
    kind TEXT COLLATE "C" NOT NULL CHECK (kind IN ('post', 'author', 'cid', 'tag')),
    target TEXT COLLATE "C" NOT NULL,
    ground TEXT COLLATE "C" NOT NULL CHECK (ground IN ('legal', 'policy')),
    statement TEXT COLLATE "C" NOT NULL,
    checksum BIGINT NOT NULL
);

CREATE INDEX measure_log_by_target ON measure_log (kind, target, id);

CREATE VIEW measures AS
SELECT l.kind, l.target, l.measure FROM measure_log l
WHERE l.measure <> 'undone' AND l.id > coalesce((
    SELECT max(n.id) FROM measure_log n
    WHERE n.kind = l.kind AND n.target = l.target AND n.measure = 'undone'), 0);

-- Reports of readers about posts, for the operator alone.
CREATE TABLE reports (
    id TEXT COLLATE "C" PRIMARY KEY,
    post_id TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C" NOT NULL,
    text TEXT COLLATE "C" NOT NULL,
    contact TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    closed_at BIGINT
);

CREATE INDEX reports_open ON reports (at, id) WHERE closed_at IS NULL;
CREATE INDEX reports_closed ON reports (at, id) WHERE closed_at IS NOT NULL;

-- Where a post is listed: 0 nowhere, because of a measure; 1 only in lists of everything; 2 in all
-- lists. Which of the last two depends on IMPRINT_SHOW, which the counter 'show' has: 0 is all, 1
-- is hosted, 2 is allowed.
ALTER TABLE posts ADD COLUMN shown BIGINT NOT NULL DEFAULT 2;
ALTER TABLE post_tags ADD COLUMN shown BIGINT NOT NULL DEFAULT 2;

CREATE INDEX posts_by_cid ON posts (cid, place);
CREATE INDEX posts_shown ON posts (place) WHERE shown = 2;
CREATE INDEX posts_shown_by_author ON posts (author, place) WHERE shown = 2;
CREATE INDEX posts_shown_by_sales ON posts (sales, place) WHERE shown = 2;
CREATE INDEX posts_shown_by_price ON posts (price, place) WHERE shown = 2;
CREATE INDEX post_tags_shown ON post_tags (tag, shown, place);

CREATE VIEW post_standing AS
SELECT p.place, CASE
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'post' AND m.target = p.post_id
                 AND m.measure IN ('unlisted', 'withheld')) THEN 0
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'author' AND m.target = p.author
                 AND m.measure IN ('unlisted', 'withheld')) THEN 0
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'cid' AND m.target = p.cid
                 AND m.measure IN ('unlisted', 'withheld')) THEN 0
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'tag'
                 AND CAST(p.hashtags AS jsonb) ? m.target
                 AND m.measure IN ('unlisted', 'withheld')) THEN 0
    WHEN coalesce((SELECT value FROM counters WHERE name = 'show'), 0) = 0 THEN 2
    WHEN (SELECT value FROM counters WHERE name = 'show') = 1
        THEN CASE WHEN EXISTS (SELECT 1 FROM files f WHERE f.post_id = p.post_id
                               AND f.state = 'onchain') THEN 2 ELSE 1 END
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'author' AND m.target = p.author
                 AND m.measure = 'allowed') THEN 2
    ELSE 1 END AS shown
FROM posts p;

-- Posts and their files arrive in any order, and a reorg takes either away again. The transactions
-- that add posts, and those that publish files, wait for each other: otherwise neither would see
-- what the other one adds.
CREATE FUNCTION show_post() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(5281730018833220013);
    UPDATE posts SET shown = s.shown FROM post_standing s
    WHERE posts.place = new.place AND s.place = new.place AND posts.shown <> s.shown;
    RETURN NULL;
END
$$;

CREATE FUNCTION show_tags() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE post_tags SET shown = new.shown WHERE place = new.place;
    RETURN NULL;
END
$$;

CREATE FUNCTION show_post_of_file() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed TEXT[] := ARRAY[CASE WHEN TG_OP <> 'INSERT' THEN old.post_id END,
                            CASE WHEN TG_OP <> 'DELETE' THEN new.post_id END];
BEGIN
    PERFORM pg_advisory_xact_lock_shared(5281730018833220013);
    UPDATE posts SET shown = s.shown FROM post_standing s
    WHERE posts.post_id = ANY (changed) AND s.place = posts.place AND posts.shown <> s.shown;
    RETURN NULL;
END
$$;

CREATE TRIGGER posts_show AFTER INSERT ON posts
FOR EACH ROW EXECUTE FUNCTION show_post();

CREATE TRIGGER posts_show_tags AFTER UPDATE OF shown ON posts
FOR EACH ROW WHEN (new.shown <> old.shown) EXECUTE FUNCTION show_tags();

CREATE TRIGGER files_show_added AFTER INSERT ON files
FOR EACH ROW WHEN (new.post_id IS NOT NULL) EXECUTE FUNCTION show_post_of_file();

CREATE TRIGGER files_show_changed AFTER UPDATE OF state, post_id ON files
FOR EACH ROW WHEN (new.post_id IS DISTINCT FROM old.post_id) EXECUTE FUNCTION show_post_of_file();

CREATE TRIGGER files_show_removed AFTER DELETE ON files
FOR EACH ROW WHEN (old.post_id IS NOT NULL) EXECUTE FUNCTION show_post_of_file();
