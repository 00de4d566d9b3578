-- A post whose `shown` is set to -1 is decided again. Measures on a hashtag apply to the hashtags on
-- the chain, and to those of the file.
CREATE OR REPLACE VIEW post_standing AS
SELECT p.place, CASE
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'post' AND m.target = p.post_id
                 AND m.measure IN ('unlisted', 'withheld')) THEN 0
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'author' AND m.target = p.author
                 AND m.measure IN ('unlisted', 'withheld')) THEN 0
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'cid' AND m.target = p.cid
                 AND m.measure IN ('unlisted', 'withheld')) THEN 0
    -- A count is looked up for each hashtag by the index, however many measures there are. Most
    -- services have none on a hashtag.
    WHEN EXISTS (SELECT 1 FROM measure_log l WHERE l.kind = 'tag') AND EXISTS (
        SELECT 1 FROM (
            SELECT jsonb_array_elements_text(CAST(p.hashtags AS jsonb)) AS tag
            UNION ALL
            SELECT jsonb_array_elements_text(CAST(g.hashtags AS jsonb)) FROM files f
            JOIN file_groups g ON g.id = f.group_id
            WHERE f.post_id = p.post_id AND f.state = 'onchain'
        ) t WHERE (
            SELECT count(*) FROM measures m WHERE m.kind = 'tag' AND m.target = t.tag
            AND m.measure IN ('unlisted', 'withheld')) > 0
    ) THEN 0
    WHEN coalesce((SELECT value FROM counters WHERE name = 'show'), 0) = 0 THEN 2
    WHEN (SELECT value FROM counters WHERE name = 'show') = 1
        THEN CASE WHEN EXISTS (SELECT 1 FROM files f WHERE f.post_id = p.post_id
                               AND f.state = 'onchain') THEN 2 ELSE 1 END
    WHEN EXISTS (SELECT 1 FROM measures m WHERE m.kind = 'author' AND m.target = p.author
                 AND m.measure = 'allowed') THEN 2
    ELSE 1 END AS shown
FROM posts p;

CREATE FUNCTION decide_shown() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    SELECT s.shown INTO new.shown FROM post_standing s WHERE s.place = new.place;
    RETURN new;
END
$$;

CREATE TRIGGER posts_show_changed BEFORE UPDATE OF shown ON posts
FOR EACH ROW WHEN (new.shown = -1) EXECUTE FUNCTION decide_shown();

UPDATE posts SET shown = -1 WHERE EXISTS (SELECT 1 FROM measure_log);
