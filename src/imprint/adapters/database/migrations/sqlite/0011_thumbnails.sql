-- Finds the posts that name a thumbnail.
CREATE INDEX posts_by_thumbnail ON posts (thumbnail_cid);
