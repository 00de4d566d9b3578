-- As of when the last complete backup is; NULL if none was made since this release.
ALTER TABLE installation ADD COLUMN backed_up_at INTEGER;

-- Finds the last delivery of a provider.
CREATE INDEX deliveries_by_provider ON deliveries (provider, received_at);
