"""Every statement of the catalog, in SQL that SQLite and PostgreSQL both understand.

Values are named (`:name`). A statement with a result is a SELECT or ends with RETURNING. Only files
in the live states, 'pending' and 'onchain', are ever shown; the states are written out in the
statements so that the partial indexes on them apply.
"""

from functools import lru_cache

FILE_COLUMNS = """
SELECT f.id, f.group_id, f.owner, f.name, f.cid, f.size, f.created_at, f.state, f.position,
       f.post_id, f.published_at, f.tx_hash, g.hashtags, g.thumbnail_cid, f.wrapped_key,
       f.checksum, g.checksum AS group_checksum"""
"""The columns of a file, in the order of the parameters of `files.build_file`."""

_FILE = FILE_COLUMNS + " FROM files f LEFT JOIN file_groups g ON g.id = f.group_id"
"""Every file has a group. One that is not found is damaged, and must not be left out in silence."""

_EVENT = """
SELECT chain_id, block_hash, block_number, log_index, tx_hash, post_id, author, spelled_cid, cid,
       seen_at, file_id, confirmed
FROM events"""

# Files, read

# The rules look at the states of single files: a damaged state would make a file seem absent.

VERSION_BY_CID = _FILE + " WHERE f.cid = :cid"
VERSION_BY_POST = _FILE + " WHERE f.post_id = :post_id"
VERSION_BY_ID = _FILE + " WHERE f.id = :id"
LIVE_IN_GROUP = _FILE + " WHERE f.group_id = :group_id AND f.state IN ('pending', 'onchain')"

LIST_POSTS = (
    _FILE
    + " WHERE f.state = 'onchain' AND f.position < :before ORDER BY f.position DESC LIMIT :limit"
)
LIST_LIVE = _FILE + (
    " WHERE f.state IN ('pending', 'onchain') AND f.position < :before"
    " ORDER BY f.position DESC LIMIT :limit"
)
LIST_DRAFTS = _FILE + (
    " WHERE f.owner = :owner AND f.state = 'pending' AND f.position < :before"
    " ORDER BY f.position DESC LIMIT :limit"
)
COUNT_TAG = "SELECT posts, drafts FROM tags WHERE tag = :tag"


_ALSO_TAGGED = """
AND EXISTS (SELECT 1 FROM file_tags o WHERE o.tag = :tag AND o.position = t.position)"""


@lru_cache(maxsize=32)
def list_tagged(tags: int, drafts_too: bool) -> str:
    """The list of files that carry all of `tags` tags: the index is walked by :tag0.

    SQLite keeps the order of left joins: it walks the index of tags, then finds each file.
    """
    wanted = "" if drafts_too else " AND t.state = 'onchain'"
    others = "".join(_ALSO_TAGGED.replace(":tag", f":tag{n}") for n in range(1, tags))
    return (
        FILE_COLUMNS
        + " FROM file_tags t LEFT JOIN files f ON f.position = t.position"
        + " LEFT JOIN file_groups g ON g.id = f.group_id"
        + " WHERE t.tag = :tag0 AND t.position < :before"
        + wanted
        + others
        + " ORDER BY t.position DESC LIMIT :limit"
    )


THUMBNAIL_OF_LIVE = """
SELECT g.thumbnail_size FROM file_groups g JOIN files f ON f.group_id = g.id
WHERE g.thumbnail_cid = :cid AND f.state IN ('pending', 'onchain') LIMIT 1"""
LOST_THUMBNAIL = """
SELECT g.id FROM file_groups g
WHERE g.thumbnail_cid = :cid
  AND NOT EXISTS (SELECT 1 FROM file_groups o JOIN files f ON f.group_id = o.id
                  WHERE o.thumbnail_cid = :cid AND f.state IN ('pending', 'onchain'))
  AND NOT EXISTS (SELECT 1 FROM detached WHERE cid = :cid AND network = 'public')
  AND NOT EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
LIMIT 1"""
"""A group whose thumbnail nobody has dropped, and whose file no longer leads to it."""

# Files, written

NEXT_POSITION = "UPDATE counters SET value = value + 1 WHERE name = 'position' RETURNING value"
ADD_GROUP = """
INSERT INTO file_groups (id, owner, hashtags, thumbnail_cid, created_at, checksum)
VALUES (:id, :owner, '[]', NULL, :created_at, :checksum)"""
COPY_GROUP = """
INSERT INTO file_groups (id, owner, hashtags, thumbnail_cid, created_at, thumbnail_size, checksum)
SELECT :id, owner, hashtags, thumbnail_cid, created_at, thumbnail_size, CAST(:checksum AS BIGINT)
FROM file_groups WHERE id = :group_id"""
PREPARE_GROUP = """
UPDATE file_groups SET hashtags = :hashtags, thumbnail_cid = :thumbnail_cid,
       thumbnail_size = :thumbnail_size, checksum = :checksum
WHERE id = :id"""
THUMBNAIL_SIZE = "SELECT thumbnail_size FROM file_groups WHERE id = :id"
ADD_FILE = """
INSERT INTO files (id, group_id, owner, name, cid, size, created_at, state, position, wrapped_key,
       checksum)
VALUES (:id, :group_id, :owner, :name, :cid, :size, :created_at, 'pending', :position,
       :wrapped_key, :checksum)"""
RETIRE_FILE = "UPDATE files SET state = :state, checksum = :checksum WHERE id = :id"
MOVE_FILE = "UPDATE files SET group_id = :group_id, checksum = :checksum WHERE id = :id"
PUBLISH_FILE = """
UPDATE files SET state = 'onchain', position = :position, draft_position = position,
       post_id = :post_id, published_at = :published_at, tx_hash = :tx_hash, checksum = :checksum
WHERE id = :id"""
UNPUBLISH_FILE = """
UPDATE files SET state = 'pending', position = coalesce(draft_position, position),
       draft_position = NULL, post_id = NULL, published_at = NULL, tx_hash = NULL, checksum = NULL
WHERE id = :id RETURNING position"""
SET_CHECKSUM = "UPDATE files SET checksum = :checksum WHERE id = :id"
SET_GROUP_CHECKSUM = """
UPDATE file_groups SET checksum = :checksum
WHERE id = :id AND hashtags = :hashtags AND coalesce(thumbnail_cid, '') = :thumbnail_cid"""
ADD_TAG = "INSERT INTO file_tags (tag, position, state) VALUES (:tag, :position, :state)"
DROP_TAG = "DELETE FROM file_tags WHERE tag = :tag AND position = :position"
RECOUNT_TAG = """
INSERT INTO tags (tag, posts, drafts) VALUES (:tag, :posts, :drafts)
ON CONFLICT (tag) DO UPDATE
SET posts = tags.posts + excluded.posts, drafts = tags.drafts + excluded.drafts"""

# Export and import

_WALK = (
    FILE_COLUMNS
    + """, e.chain_id AS event_chain_id, e.block_hash AS event_block_hash,
       e.block_number AS event_block_number, e.log_index AS event_log_index,
       e.tx_hash AS event_tx_hash, e.post_id AS event_post_id, e.author AS event_author,
       e.spelled_cid AS event_spelled_cid, e.cid AS event_cid
FROM files f LEFT JOIN file_groups g ON g.id = f.group_id LEFT JOIN events e ON e.file_id = f.id
WHERE f.state IN ('pending', 'onchain') AND f.position > :after"""
)
WALK_FILES = _WALK + " ORDER BY f.position LIMIT :limit"
WALK_FILES_OF_OWNER = _WALK + " AND f.owner = :owner ORDER BY f.position LIMIT :limit"
PRIVATE_DOCUMENTS = """
SELECT cid, size, wrapped_key IS NULL AS readable FROM files
WHERE cid > :after ORDER BY cid LIMIT :limit"""
PUBLIC_DOCUMENTS = """
SELECT DISTINCT thumbnail_cid AS cid FROM file_groups
WHERE thumbnail_cid > :after ORDER BY thumbnail_cid LIMIT :limit"""
CONFLICTING_FILES = """
SELECT id FROM files WHERE id = :id UNION ALL SELECT id FROM files WHERE name = :name"""
OWNER_OF_GROUP = "SELECT owner FROM file_groups WHERE id = :id"

# Checks of what is stored

ALL_VERSIONS = _FILE + " WHERE f.position > :after ORDER BY f.position LIMIT :limit"
HAS_TAG = "SELECT state FROM file_tags WHERE tag = :tag AND position = :position"
WRONG_TAGS = """
SELECT count(*) AS count FROM file_tags t LEFT JOIN files f ON f.position = t.position
WHERE f.position IS NULL OR f.state <> t.state"""
MISCOUNTED_TAGS = """
SELECT count(*) AS count FROM tags LEFT JOIN (
    SELECT tag, sum(CASE state WHEN 'onchain' THEN 1 ELSE 0 END) AS posts, count(*) AS live
    FROM file_tags GROUP BY tag
) AS found ON found.tag = tags.tag
WHERE coalesce(found.posts, 0) <> tags.posts OR coalesce(found.live, 0) <> tags.posts + tags.drafts
   OR tags.posts < 0 OR tags.drafts < 0"""

# The keys of documents

WRAPPED_KEYS = """
SELECT id, name, wrapped_key FROM files
WHERE wrapped_key IS NOT NULL AND id > :after ORDER BY id LIMIT :limit"""
REWRAP_KEY = """
UPDATE files SET wrapped_key = :new WHERE id = :id AND wrapped_key = :old RETURNING 1"""

HAS_WRAPPED_KEY = """
SELECT 1 FROM files WHERE wrapped_key IS NOT NULL AND substr(wrapped_key, 1, :length) = :prefix
LIMIT 1"""

# Rate limits

ADMIT = """
INSERT INTO paces (key, until) VALUES (:key, :first)
ON CONFLICT (key) DO UPDATE
SET until = :share
    + CASE WHEN paces.until BETWEEN :now AND :furthest THEN paces.until ELSE :now END
WHERE paces.until + :share <= :latest OR paces.until > :furthest
RETURNING 1"""
HAS_WRITING_SESSION = "SELECT 1 FROM writing_sessions WHERE id = :session"
ADMIT_BY_SESSION = ADMIT.replace(
    "VALUES (:key, :first)",
    f"SELECT CAST(:key AS TEXT), CAST(:first AS BIGINT) WHERE EXISTS ({HAS_WRITING_SESSION})",
)
"""Counts nothing for a writing session that is revoked."""
CHARGE = """
INSERT INTO paces (key, until) VALUES (:key, :first)
ON CONFLICT (key) DO UPDATE
SET until = CASE WHEN paces.until <= :now OR paces.until > :furthest THEN :first
    WHEN paces.until + :share > :latest THEN :latest ELSE paces.until + :share END"""
RATE_LIMIT = "SELECT until FROM paces WHERE key = :key"
FORGET_RATE_LIMITS = "DELETE FROM paces WHERE until < :before"

# Nonces and intents

SPENT_NONCE = "SELECT action, file_id FROM nonces WHERE signer = :signer AND nonce = :nonce"
SPEND_NONCE = """
INSERT INTO nonces (signer, nonce, action, file_id, spent_at)
VALUES (:signer, :nonce, :action, :file_id, :spent_at)"""
SPEND_LOGIN_NONCE = """
INSERT INTO login_nonces (address, nonce, spent_at) VALUES (:address, :nonce, :spent_at)
ON CONFLICT DO NOTHING
RETURNING (SELECT generation FROM ended_sessions WHERE subject = :address) AS generation"""
RESERVE_NUMBER = """
INSERT INTO owners (owner, last_number) VALUES (:owner, :number)
ON CONFLICT (owner) DO UPDATE SET last_number = excluded.last_number
WHERE excluded.last_number > owners.last_number"""
_WITHIN_QUOTA = """
SET last_number = {number}, used_bytes = owners.used_bytes + excluded.used_bytes,
    drafts = owners.drafts + excluded.drafts
WHERE owners.used_bytes + excluded.used_bytes <= :max_bytes
  AND owners.drafts + excluded.drafts <= :max_drafts"""
RESERVE = (
    """
INSERT INTO owners (owner, last_number, used_bytes, drafts) VALUES (:owner, 0, :bytes, :drafts)
ON CONFLICT (owner) DO UPDATE"""
    + _WITHIN_QUOTA.format(number="owners.last_number")
    + " RETURNING 1"
)
RESERVE_WITH_NUMBER = (
    """
INSERT INTO owners (owner, last_number, used_bytes, drafts)
VALUES (:owner, :number, :bytes, :drafts)
ON CONFLICT (owner) DO UPDATE"""
    + _WITHIN_QUOTA.format(number="excluded.last_number")
    + " AND excluded.last_number > owners.last_number RETURNING 1"
)
USAGE = "SELECT used_bytes, drafts FROM owners WHERE owner = :owner"
COUNT_USAGE = """
UPDATE owners SET used_bytes = used_bytes + :bytes, drafts = drafts + :drafts
WHERE owner = :owner"""
DELETED_DRAFTS = """
SELECT CAST(coalesce(sum(drafts), 0) AS BIGINT) AS count FROM detached
WHERE owner = :owner AND drafts > 0"""
SETTLE_DELETED_DRAFTS = "UPDATE detached SET drafts = 0 WHERE owner = :owner AND drafts > 0"
COMPARE_USAGE = """
SELECT o.owner, coalesce(f.used_bytes, 0) - o.used_bytes AS used_bytes,
       coalesce(f.drafts, 0) - o.drafts AS drafts
FROM owners o LEFT JOIN (
    SELECT owner, CAST(sum(size) AS BIGINT) AS used_bytes, CAST(sum(draft) AS BIGINT) AS drafts
    FROM (
        SELECT f.owner, f.size + CASE WHEN g.thumbnail_cid IS NULL THEN 0 ELSE g.thumbnail_size END
               AS size, 1 AS draft
        FROM files f JOIN file_groups g ON g.id = f.group_id WHERE f.state = 'pending'
        UNION ALL SELECT owner, size, drafts FROM detached WHERE owner IS NOT NULL
        UNION ALL SELECT signer, size, CASE action WHEN 'create' THEN 1 ELSE 0 END FROM intents
    ) AS counted GROUP BY owner
) AS f ON f.owner = o.owner
WHERE coalesce(f.used_bytes, 0) <> o.used_bytes OR coalesce(f.drafts, 0) <> o.drafts"""
NEXT_NUMBER = """
UPDATE owners SET last_number = last_number + 1 WHERE owner = :owner RETURNING last_number"""
ADD_INTENT = """
INSERT INTO intents (id, signer, nonce, action, cid, network, number, lease_until, size)
VALUES (:id, :signer, :nonce, :action, :cid, :network, :number, :lease_until, :size)"""
END_INTENT = "DELETE FROM intents WHERE id = :id RETURNING 1"

# Documents

DETACH = """
INSERT INTO detached (cid, network, detached_at, owner, size)
VALUES (:cid, :network, :detached_at, :owner, :size)
ON CONFLICT (cid, network) DO UPDATE
SET detached_at = excluded.detached_at, owner = excluded.owner, size = excluded.size"""
DETACH_UNLESS_KNOWN = """
INSERT INTO detached (cid, network, detached_at, owner, size)
VALUES (:cid, :network, :detached_at, :owner, :size)
ON CONFLICT DO NOTHING RETURNING 1"""
DETACH_STRAY = """
INSERT INTO detached (cid, network, detached_at)
SELECT :cid, :network, CAST(:detached_at AS BIGINT)
WHERE NOT EXISTS (SELECT 1 FROM files WHERE cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM file_groups WHERE thumbnail_cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
ON CONFLICT DO NOTHING RETURNING 1"""
STRAY = """
SELECT 1 AS stray WHERE NOT EXISTS (SELECT 1 FROM files WHERE cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM file_groups WHERE thumbnail_cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
  AND NOT EXISTS (SELECT 1 FROM detached WHERE cid = :cid AND network = :network)"""
NOW = "SELECT :now AS now"
FENCE = "SELECT value FROM counters WHERE name = 'fence'"
RAISE_FENCE = """
INSERT INTO counters (name, value) VALUES ('fence', 1)
ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value"""
CONDEMNED = "SELECT fence FROM detached WHERE cid = :cid AND network = :network AND condemned = 1"
TAKE_BACK = """
DELETE FROM detached WHERE cid = :cid AND network = :network AND condemned = 1
RETURNING owner, size, drafts, fence"""
ALL_CONDEMNED = """
SELECT cid, network, fence FROM detached
WHERE condemned = 1 AND (fence, cid, network) > (:fence, :cid, :network)
ORDER BY fence, cid, network LIMIT :limit"""
SET_FENCE = """
UPDATE detached SET fence = :fence
WHERE cid = :cid AND network = :network AND condemned = 1 AND fence = 0 RETURNING 1"""
_DUE = """
FROM (
    SELECT cid, network, size FROM detached WHERE condemned = 1 OR detached_at < :before
    UNION
    SELECT i.cid, i.network, max(i.size) FROM intents i WHERE i.lease_until < :now
      AND NOT EXISTS (SELECT 1 FROM detached d WHERE d.cid = i.cid AND d.network = i.network)
    GROUP BY i.cid, i.network
) AS due
WHERE NOT EXISTS (SELECT 1 FROM intents i
                  WHERE i.cid = due.cid AND i.network = due.network AND i.lease_until >= :now)
  AND NOT (due.network = 'private' AND EXISTS (
      SELECT 1 FROM files f WHERE f.cid = due.cid AND f.state IN ('pending', 'onchain')))
  AND NOT (due.network = 'public' AND EXISTS (
      SELECT 1 FROM file_groups g JOIN files f ON f.group_id = g.id
      WHERE g.thumbnail_cid = due.cid AND f.state IN ('pending', 'onchain')))"""
COUNT_DUE = "SELECT count(*) AS count, CAST(coalesce(sum(size), 0) AS BIGINT) AS bytes" + _DUE
LIST_DUE = "SELECT cid, network" + _DUE + " ORDER BY network, cid LIMIT :limit"
COUNT_WAITING = """
SELECT count(*) AS count FROM detached WHERE condemned = 0 AND detached_at >= :before"""
DETACHED_BEFORE = """
SELECT cid, network FROM detached WHERE condemned = 0 AND detached_at < :before
ORDER BY detached_at, cid, network LIMIT :limit"""
EXPIRED_INTENTS = """
SELECT id, signer, action, cid, network, size FROM intents
WHERE lease_until < :now ORDER BY lease_until LIMIT :limit"""
RUNNING_INTENT = """
SELECT 1 FROM intents
WHERE cid = :cid AND network = :network AND lease_until >= :now LIMIT 1"""
LIVE_DOCUMENT = "SELECT 1 FROM files WHERE cid = :cid AND state IN ('pending', 'onchain')"
END_INTENTS_FOR = """
DELETE FROM intents WHERE cid = :cid AND network = :network RETURNING signer, action, size"""
CONDEMN = """
UPDATE detached SET condemned = 1, fence = :fence
WHERE cid = :cid AND network = :network AND detached_at < :before RETURNING 1"""
REATTACH = """
DELETE FROM detached WHERE cid = :cid AND network = :network AND condemned = 0
RETURNING owner, size, drafts"""
PURGE = """
DELETE FROM detached
WHERE cid = :cid AND network = :network AND condemned = 1 AND fence = :fence
RETURNING owner, size, drafts"""
FORGET_VERSION = "DELETE FROM files WHERE cid = :cid RETURNING group_id"
FORGET_EMPTY_GROUP = """
DELETE FROM file_groups
WHERE id = :id AND NOT EXISTS (SELECT 1 FROM files WHERE group_id = :id)"""
FORGET_THUMBNAIL = """
UPDATE file_groups SET thumbnail_cid = NULL, thumbnail_size = 0 WHERE thumbnail_cid = :cid"""

# Events and deliveries

SAVEPOINT = "SAVEPOINT one_event"
RELEASE_SAVEPOINT = "RELEASE SAVEPOINT one_event"
ROLL_BACK_TO_SAVEPOINT = "ROLLBACK TO SAVEPOINT one_event"

ADD_DELIVERY = """
INSERT INTO deliveries (provider, digest, nonce, received_at)
VALUES (:provider, :digest, :nonce, :received_at)
ON CONFLICT DO NOTHING RETURNING 1"""
FORGET_DELIVERIES = "DELETE FROM deliveries WHERE received_at < :before"
FORGET_LOGINS = "DELETE FROM login_nonces WHERE spent_at < :before"
FORGET_ENDED_SESSIONS = "DELETE FROM ended_sessions WHERE expires_at < :before"
FORGET_WRITING_SESSIONS = "DELETE FROM writing_sessions WHERE expires_at < :before"
KNOWN_EVENT = """
SELECT canonical, file_id, post_id, author, spelled_cid FROM events
WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"""
ADD_EVENT = """
INSERT INTO events (chain_id, block_hash, log_index, block_number, tx_hash, post_id, author,
       spelled_cid, cid, status, source, seen_at)
VALUES (:chain_id, :block_hash, :log_index, :block_number, :tx_hash, :post_id, :author,
       :spelled_cid, :cid, 'unknown_file', :source, :seen_at)"""
SET_EVENT_STATUS = """
UPDATE events SET status = :status, file_id = :file_id, canonical = 1
WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"""
RELEASE_EVENT = """
UPDATE events SET status = 'unknown_file', file_id = NULL, canonical = 0, confirmed = 0
WHERE file_id = :file_id"""
BINDING_OF_FILE = "SELECT block_number, confirmed FROM events WHERE file_id = :file_id"
KEPT_FOR_CID = _EVENT + (
    " WHERE cid = :cid AND author = :author AND canonical = 1"
    " ORDER BY block_number NULLS FIRST, log_index LIMIT :limit"
)
KEPT_FOR_POST = _EVENT + (
    " WHERE post_id = :post_id AND canonical = 1 ORDER BY block_number NULLS FIRST LIMIT :limit"
)
CANONICAL_EVENT = _EVENT + (
    " WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"
    " AND canonical = 1"
)
LOSE_EVENT = """
UPDATE events SET status = 'unknown_file', file_id = NULL, canonical = 0, confirmed = 0
WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"""
CORRECT_EVENT = """
UPDATE events SET confirmed = 1, block_number = :block_number, tx_hash = :tx_hash,
       post_id = :post_id, author = :author, spelled_cid = :spelled_cid, cid = :cid
WHERE chain_id = :chain_id AND block_hash = :block_hash AND log_index = :log_index"""
CORRECT_FILE = "UPDATE files SET tx_hash = :tx_hash, checksum = :checksum WHERE id = :id"
KNOWN_EVENTS = _EVENT + (
    " WHERE chain_id = :chain_id AND block_number BETWEEN :first AND :last AND canonical = 1"
    " ORDER BY block_number, block_hash"
)
NEWEST_EVENT_BLOCK = (
    "SELECT block_number, block_hash FROM events WHERE chain_id = :chain_id"
    " AND block_number <= :last AND canonical = 1 AND confirmed = 1"
    " ORDER BY block_number DESC LIMIT 1"
)
OLDEST_EVENT_BLOCK = (
    "SELECT block_number, block_hash FROM events WHERE chain_id = :chain_id"
    " AND block_number >= 0 AND canonical = 1 AND confirmed = 1"
    " ORDER BY block_number LIMIT 1"
)
UNCONFIRMED_EVENTS = _EVENT + (
    " WHERE chain_id = :chain_id AND canonical = 1 AND confirmed = 0 ORDER BY seen_at LIMIT :limit"
)
ADD_DEAD_LETTER = """
INSERT INTO dead_letters (identity, reason, payload, source, seen_at)
VALUES (:identity, :reason, :payload, :source, :seen_at)
ON CONFLICT DO NOTHING RETURNING 1"""
COUNT_EVENTS = "SELECT count(*) AS count FROM events WHERE status = :status AND canonical = 1"
EVENTS_OF_STATUS = _EVENT + (
    " WHERE status = :status AND canonical = 1 ORDER BY seen_at DESC LIMIT :limit"
)
COUNT_DEAD_LETTERS = "SELECT count(*) AS count FROM dead_letters WHERE seen_at >= 0"
DEAD_LETTERS = """
SELECT identity, reason, payload, source, seen_at FROM dead_letters WHERE seen_at >= 0
ORDER BY seen_at DESC LIMIT :limit"""

# The installation

INSTALLATION = "SELECT id, claimed, owns_unnamed FROM installation WHERE only_row = 1"
ADD_INSTALLATION = """
INSERT INTO installation (only_row, id, owns_unnamed)
SELECT 1, CAST(:id AS TEXT), CASE WHEN EXISTS (SELECT 1 FROM files) THEN 1
       WHEN EXISTS (SELECT 1 FROM detached) THEN 1 ELSE 0 END
WHERE true ON CONFLICT DO NOTHING"""
NOTE_CLAIM = "UPDATE installation SET claimed = 1 WHERE only_row = 1"
RENAME_INSTALLATION = """
UPDATE installation SET id = :id, claimed = 0, owns_unnamed = 0, backed_up_at = NULL
WHERE only_row = 1"""
MASTER_KEYS = "SELECT master_keys FROM installation WHERE only_row = 1"
SET_MASTER_KEYS = "UPDATE installation SET master_keys = :ids WHERE only_row = 1"
KNOWN_DOCUMENT = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM files WHERE cid = :cid)
  OR EXISTS (SELECT 1 FROM file_groups WHERE thumbnail_cid = :cid)
  OR EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
  OR EXISTS (SELECT 1 FROM detached WHERE cid = :cid)"""

# The cursor and the final block of a chain, leases, the heartbeat

SET_CHAIN_MARK = """
INSERT INTO chain_marks (chain_id, kind, block_number, block_hash)
VALUES (:chain_id, :kind, :block_number, :block_hash)
ON CONFLICT (chain_id, kind) DO UPDATE
SET block_number = excluded.block_number, block_hash = excluded.block_hash"""
CHAIN_MARK = (
    "SELECT block_number, block_hash FROM chain_marks WHERE chain_id = :chain_id AND kind = :kind"
)
TAKE_LEASE = """
INSERT INTO leases (name, holder, length, held_until)
VALUES (:name, :holder, :length, :now + :length)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, length = excluded.length, held_until = excluded.held_until
WHERE leases.holder = excluded.holder
    OR leases.held_until <= :now OR leases.held_until > :now + leases.length
RETURNING 1"""
RELEASE_LEASE = """
UPDATE leases SET held_until = :now
WHERE name = :name AND holder = :holder AND held_until > :now"""
FIND_LEASE = """
SELECT holder, held_until - :now AS microseconds FROM leases
WHERE name = :name AND held_until <= :now + length"""
READ_HEARTBEAT = "SELECT value FROM counters WHERE name = 'heartbeat'"
HEARTBEAT = "UPDATE counters SET value = value + 1 WHERE name = 'heartbeat'"
