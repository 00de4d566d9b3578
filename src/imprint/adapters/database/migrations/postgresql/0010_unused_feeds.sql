-- Finds private feeds that nobody has fetched for a long time.
CREATE INDEX private_feeds_by_use ON private_feeds (COALESCE(fetched_at, created_at));
