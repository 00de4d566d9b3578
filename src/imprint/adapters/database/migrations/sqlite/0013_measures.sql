-- Every decision of the operator, in order; nothing is ever changed or removed. What is in force
-- follows from it: a decision lasts until everything about its target is undone.
CREATE TABLE measure_log (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    measure TEXT NOT NULL
        CHECK (measure IN ('unlisted', 'withheld', 'refused', 'allowed', 'undone')),
    kind TEXT NOT NULL CHECK (kind IN ('post', 'author', 'cid', 'tag')),
    target TEXT NOT NULL,
    ground TEXT NOT NULL CHECK (ground IN ('legal', 'policy')),
    statement TEXT NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;

CREATE INDEX measure_log_by_target ON measure_log (kind, target, id);

CREATE VIEW measures AS
SELECT l.kind, l.target, l.measure FROM measure_log l
WHERE l.measure <> 'undone' AND l.id > coalesce((
    SELECT max(n.id) FROM measure_log n
    WHERE n.kind = l.kind AND n.target = l.target AND n.measure = 'undone'), 0);

-- Reports of readers about posts, for the operator alone.
CREATE TABLE reports (
    id TEXT PRIMARY KEY,
    post_id TEXT NOT NULL,
    reason TEXT NOT NULL,
    text TEXT NOT NULL,
    contact TEXT NOT NULL,
    at INTEGER NOT NULL,
    closed_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX reports_open ON reports (at, id) WHERE closed_at IS NULL;
CREATE INDEX reports_closed ON reports (at, id) WHERE closed_at IS NOT NULL;

-- Where a post is listed: 0 nowhere, because of a measure; 1 only in lists of everything; 2 in all
-- lists. Which of the last two depends on IMPRINT_SHOW, which the counter 'show' has: 0 is all, 1
-- is hosted, 2 is allowed.
ALTER TABLE posts ADD COLUMN shown INTEGER NOT NULL DEFAULT 2;
ALTER TABLE post_tags ADD COLUMN shown INTEGER NOT NULL DEFAULT 2;

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
    WHEN EXISTS (SELECT 1 FROM json_each(p.hashtags) t JOIN measures m ON m.target = t.value
                 WHERE m.kind = 'tag' AND m.measure IN ('unlisted', 'withheld')) THEN 0
    WHEN coalesce((SELECT value FROM counters WHERE name = 'show'), 0) = 0 THEN 2
    WHEN (SELECT value FROM counters WHERE name = 'show') = 1
        THEN CASE WHEN EXISTS (SELECT 1 FROM files f WHERE f.post_id = p.post_id
                               AND f.state = 'onchain') THEN 2 ELSE 1 END
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'author' AND m.target = p.author
                 AND m.measure = 'allowed') THEN 2
    ELSE 1 END AS shown
FROM posts p;

-- Posts and their files arrive in any order, and a reorg takes either away again.
CREATE TRIGGER posts_show AFTER INSERT ON posts
BEGIN
    UPDATE posts SET shown = (SELECT s.shown FROM post_standing s WHERE s.place = new.place)
    WHERE place = new.place;
END;

CREATE TRIGGER posts_show_tags AFTER UPDATE OF shown ON posts WHEN new.shown <> old.shown
BEGIN
    UPDATE post_tags SET shown = new.shown WHERE place = new.place;
END;

CREATE TRIGGER files_show_added AFTER INSERT ON files WHEN new.post_id IS NOT NULL
BEGIN
    UPDATE posts SET shown = (SELECT s.shown FROM post_standing s WHERE s.place = posts.place)
    WHERE post_id = new.post_id;
END;

CREATE TRIGGER files_show_changed AFTER UPDATE OF state, post_id ON files
WHEN new.post_id IS NOT old.post_id
BEGIN
    UPDATE posts SET shown = (SELECT s.shown FROM post_standing s WHERE s.place = posts.place)
    WHERE post_id IN (new.post_id, old.post_id);
END;

CREATE TRIGGER files_show_removed AFTER DELETE ON files WHEN old.post_id IS NOT NULL
BEGIN
    UPDATE posts SET shown = (SELECT s.shown FROM post_standing s WHERE s.place = posts.place)
    WHERE post_id = old.post_id;
END;
