"""The statements with which a salvaged catalog is completed and made consistent, for SQLite."""

UNBOUND = {"file_id": "NULL", "status": "'unknown_file'", "confirmed": "0"}
"""What an event of a backup becomes: the chain says what it does now."""

FROM_BACKUP = (
    """
INSERT INTO owners (owner, last_number) SELECT owner, last_number FROM saved.owners WHERE true
ON CONFLICT (owner) DO UPDATE SET last_number = max(last_number, excluded.last_number)""",
    """
INSERT INTO counters (name, value) SELECT name, value FROM saved.counters WHERE true
ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)""",
)
"""Numbers that only rise are at least as high as in a backup."""

ENDED_SESSIONS_OF_BACKUP = """
INSERT INTO ended_sessions (subject, generation, expires_at)
SELECT subject, generation, expires_at FROM saved.ended_sessions WHERE true
ON CONFLICT (subject) DO UPDATE SET generation = max(generation, excluded.generation),
       expires_at = max(expires_at, excluded.expires_at)"""

FILES_ONLY_IN_BACKUP = """
SELECT * FROM saved.files s
WHERE NOT EXISTS (SELECT 1 FROM main.files f WHERE f.id = s.id) ORDER BY s.position"""
GROUPS_ONLY_IN_BACKUP = """
SELECT * FROM saved.file_groups s
WHERE NOT EXISTS (SELECT 1 FROM main.file_groups g WHERE g.id = s.id)
  AND EXISTS (SELECT 1 FROM main.files f WHERE f.group_id = s.id)"""

RETIRED = """
SELECT 1 FROM detached WHERE cid = :cid AND network = 'private' AND owner IS NOT NULL
UNION ALL SELECT 1 FROM nonces WHERE action = 'delete' AND file_id = :id LIMIT 1"""
LIVE_IN_GROUP = """
SELECT position FROM files WHERE group_id = :group_id AND state IN ('pending', 'onchain')"""
EVENT_OF_POST = """
SELECT tx_hash, seen_at FROM events WHERE post_id = :post_id AND cid = :cid AND canonical = 1"""

KNOWN_DOCUMENT = """
SELECT 1 FROM files WHERE cid = :cid
UNION ALL SELECT 1 FROM intents WHERE cid = :cid
UNION ALL SELECT 1 FROM detached
          WHERE cid = :cid AND network = 'private' AND (owner IS NOT NULL OR condemned = 1)
LIMIT 1"""
"""A document that was detached without an owner was a stray before."""

NEXT_POSITION = """
SELECT 1 + max((SELECT value FROM counters WHERE name = 'position'),
               (SELECT coalesce(max(position), 0) FROM files))"""

MISSING_GROUPS = """
SELECT group_id, min(owner) AS owner, min(created_at) AS created_at FROM files f
WHERE NOT EXISTS (SELECT 1 FROM file_groups g WHERE g.id = f.group_id) GROUP BY group_id"""
SET_INSTALLATION = "INSERT INTO installation (only_row, id, claimed) VALUES (1, ?, 1)"

_NUMBERS = """
INSERT INTO counters (name, value)
VALUES ('position', max((SELECT coalesce(max(position), 0) FROM files),
                        (SELECT coalesce(max(draft_position), 0) FROM files)))
ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)"""
_FENCE = """
INSERT INTO counters (name, value)
SELECT 'fence', max(coalesce(max(fence), 0), :fence) FROM detached WHERE true
ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)"""
_OWNERS = """
INSERT INTO owners (owner, last_number)
SELECT owner, max(CAST(substr(name, length(owner) + 2) AS INTEGER)) FROM files GROUP BY owner
ON CONFLICT (owner) DO UPDATE SET last_number = max(last_number, excluded.last_number)"""
_OTHER_OWNERS = """
INSERT OR IGNORE INTO owners (owner, last_number)
SELECT owner, 0 FROM detached WHERE owner IS NOT NULL UNION SELECT signer, 0 FROM intents"""

_UNBIND_EVENTS = """
UPDATE events SET file_id = NULL, status = 'unknown_file', confirmed = 0
WHERE file_id IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM files f WHERE f.id = events.file_id AND f.post_id = events.post_id
      AND f.cid = events.cid AND f.owner = events.author)"""
_BIND_EVENTS = """
UPDATE events SET file_id = f.id, status = 'onchain' FROM files f
WHERE f.post_id = events.post_id AND f.cid = events.cid AND f.owner = events.author
  AND events.file_id IS NULL AND events.canonical = 1 AND f.state = 'onchain'
  AND NOT EXISTS (SELECT 1 FROM events e WHERE e.file_id = f.id)"""
_UNPUBLISH = """
UPDATE files SET state = 'pending', post_id = NULL, published_at = NULL, tx_hash = NULL,
       draft_position = NULL, checksum = NULL
WHERE state = 'onchain' AND NOT EXISTS (SELECT 1 FROM events e WHERE e.file_id = files.id)"""
_PUBLISH = """
UPDATE OR IGNORE files SET state = 'onchain', post_id = e.post_id, tx_hash = e.tx_hash,
       published_at = max(e.seen_at, files.created_at), checksum = NULL
FROM (SELECT cid, author, post_id, tx_hash, min(seen_at) AS seen_at FROM events
      WHERE canonical = 1 AND file_id IS NULL GROUP BY cid, author) e
WHERE e.cid = files.cid AND e.author = files.owner AND files.state = 'pending'
  AND NOT EXISTS (SELECT 1 FROM files o WHERE o.post_id = e.post_id)"""
_UNCONFIRM = "UPDATE events SET confirmed = 0 WHERE :whole = 0"
_RESET_MARKS = "DELETE FROM chain_marks WHERE :whole = 0"

_DETACH = """
INSERT OR IGNORE INTO detached (cid, network, detached_at, owner, size)
SELECT cid, 'private', :now, owner, size FROM files WHERE state IN ('superseded', 'deleted')"""
_REATTACH = """
DELETE FROM detached WHERE network = 'private' AND condemned = 0
  AND EXISTS (SELECT 1 FROM files f WHERE f.cid = detached.cid
              AND f.state IN ('pending', 'onchain'))"""

_CLEAR_TAGS = "DELETE FROM file_tags"
_CLEAR_COUNTS = "DELETE FROM tags"
_TAGS = """
INSERT OR IGNORE INTO file_tags (tag, position, state)
SELECT t.value, f.position, f.state FROM files f JOIN file_groups g ON g.id = f.group_id,
       json_each(g.hashtags) t WHERE f.state IN ('pending', 'onchain')"""
_COUNTS = """
INSERT INTO tags (tag, posts, drafts)
SELECT tag, sum(state = 'onchain'), sum(state = 'pending') FROM file_tags GROUP BY tag"""
_LEASES = "DELETE FROM leases"
_WRITING_SESSIONS = "DELETE FROM writing_sessions"

CONSISTENT = (
    _UNBIND_EVENTS,
    _BIND_EVENTS,
    _UNPUBLISH,
    _PUBLISH,
    _BIND_EVENTS,
    _UNCONFIRM,
    _RESET_MARKS,
    _DETACH,
    _REATTACH,
    _NUMBERS,
    _FENCE,
    _OWNERS,
    _OTHER_OWNERS,
    _CLEAR_TAGS,
    _CLEAR_COUNTS,
    _TAGS,
    _COUNTS,
    _LEASES,
    _WRITING_SESSIONS,
)
"""Run in this order; a post needs the event that it is bound to, and becomes a draft without."""

UNCHECKED_FILES = "SELECT * FROM files WHERE checksum IS NULL"
SET_CHECKSUM = "UPDATE files SET checksum = ? WHERE id = ?"
