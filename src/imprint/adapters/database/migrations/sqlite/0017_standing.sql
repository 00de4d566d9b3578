-- SQLite's integrity check does not look for unused pages while a view exists, so triggers decide
-- where a post is listed. A post whose `shown` is set to -1 is decided again. Measures on a hashtag
-- apply to the hashtags on the chain, and to those of the file.
DROP TRIGGER posts_show;
DROP TRIGGER posts_show_tags;
DROP TRIGGER files_show_added;
DROP TRIGGER files_show_changed;
DROP TRIGGER files_show_removed;
DROP VIEW post_standing;
DROP VIEW measures;

CREATE TRIGGER posts_show_added AFTER INSERT ON posts
BEGIN
    UPDATE posts SET shown = CASE
        WHEN EXISTS (
            SELECT 1 FROM (
                SELECT 'post' AS kind, new.post_id AS target
                UNION ALL SELECT 'author', new.author
                UNION ALL SELECT 'cid', new.cid
                UNION ALL SELECT 'tag', t.value FROM json_each(new.hashtags) t
                UNION ALL SELECT 'tag', t.value FROM files f
                JOIN file_groups g ON g.id = f.group_id AND json_valid(g.hashtags)
                JOIN json_each(g.hashtags) t
                WHERE f.post_id = new.post_id AND f.state = 'onchain'
            ) s JOIN measure_log m ON m.kind = s.kind AND m.target = s.target
            WHERE m.measure IN ('unlisted', 'withheld') AND NOT EXISTS (
                SELECT 1 FROM measure_log u WHERE u.kind = m.kind AND u.target = m.target
                AND u.id > m.id AND u.measure = 'undone')
        ) THEN 0
        WHEN coalesce((SELECT value FROM counters WHERE name = 'show'), 0) = 0 THEN 2
        WHEN (SELECT value FROM counters WHERE name = 'show') = 1
            THEN CASE WHEN EXISTS (SELECT 1 FROM files f WHERE f.post_id = new.post_id
                                   AND f.state = 'onchain') THEN 2 ELSE 1 END
        WHEN EXISTS (
            SELECT 1 FROM measure_log m
            WHERE m.kind = 'author' AND m.target = new.author AND m.measure = 'allowed'
            AND NOT EXISTS (
                SELECT 1 FROM measure_log u WHERE u.kind = 'author' AND u.target = new.author
                AND u.id > m.id AND u.measure = 'undone')
        ) THEN 2
        ELSE 1 END
    WHERE place = new.place;
END;

CREATE TRIGGER posts_show_changed AFTER UPDATE OF shown ON posts WHEN new.shown = -1
BEGIN
    UPDATE posts SET shown = CASE
        WHEN EXISTS (
            SELECT 1 FROM (
                SELECT 'post' AS kind, new.post_id AS target
                UNION ALL SELECT 'author', new.author
                UNION ALL SELECT 'cid', new.cid
                UNION ALL SELECT 'tag', t.value FROM json_each(new.hashtags) t
                UNION ALL SELECT 'tag', t.value FROM files f
                JOIN file_groups g ON g.id = f.group_id AND json_valid(g.hashtags)
                JOIN json_each(g.hashtags) t
                WHERE f.post_id = new.post_id AND f.state = 'onchain'
            ) s JOIN measure_log m ON m.kind = s.kind AND m.target = s.target
            WHERE m.measure IN ('unlisted', 'withheld') AND NOT EXISTS (
                SELECT 1 FROM measure_log u WHERE u.kind = m.kind AND u.target = m.target
                AND u.id > m.id AND u.measure = 'undone')
        ) THEN 0
        WHEN coalesce((SELECT value FROM counters WHERE name = 'show'), 0) = 0 THEN 2
        WHEN (SELECT value FROM counters WHERE name = 'show') = 1
            THEN CASE WHEN EXISTS (SELECT 1 FROM files f WHERE f.post_id = new.post_id
                                   AND f.state = 'onchain') THEN 2 ELSE 1 END
        WHEN EXISTS (
            SELECT 1 FROM measure_log m
            WHERE m.kind = 'author' AND m.target = new.author AND m.measure = 'allowed'
            AND NOT EXISTS (
                SELECT 1 FROM measure_log u WHERE u.kind = 'author' AND u.target = new.author
                AND u.id > m.id AND u.measure = 'undone')
        ) THEN 2
        ELSE 1 END
    WHERE place = new.place;
END;

CREATE TRIGGER posts_show_tags AFTER UPDATE OF shown ON posts
WHEN new.shown >= 0 AND new.shown <> old.shown
BEGIN
    UPDATE post_tags SET shown = new.shown WHERE place = new.place AND shown <> new.shown;
END;

CREATE TRIGGER files_show_added AFTER INSERT ON files WHEN new.post_id IS NOT NULL
BEGIN
    UPDATE posts SET shown = -1 WHERE post_id = new.post_id;
END;

CREATE TRIGGER files_show_changed AFTER UPDATE OF state, post_id ON files
WHEN new.post_id IS NOT old.post_id
BEGIN
    UPDATE posts SET shown = -1 WHERE post_id IN (new.post_id, old.post_id);
END;

CREATE TRIGGER files_show_removed AFTER DELETE ON files WHEN old.post_id IS NOT NULL
BEGIN
    UPDATE posts SET shown = -1 WHERE post_id = old.post_id;
END;

UPDATE posts SET shown = -1 WHERE EXISTS (SELECT 1 FROM measure_log);
