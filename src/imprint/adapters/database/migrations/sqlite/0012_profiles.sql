-- What authors say about themselves, signed by their wallets. links are separated by line feeds;
-- avatar_size are the bytes of the picture, which count for the author.
CREATE TABLE profiles (
    address TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    bio TEXT NOT NULL,
    links TEXT NOT NULL,
    avatar_cid TEXT,
    avatar_size INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL,
    checksum INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX profiles_by_avatar ON profiles (avatar_cid) WHERE avatar_cid IS NOT NULL;
