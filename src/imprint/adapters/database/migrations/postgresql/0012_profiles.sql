-- What authors say about themselves, signed by their wallets. links are separated by line feeds;
-- avatar_size are the bytes of the picture, which count for the author.
CREATE TABLE profiles (
    address TEXT COLLATE "C" PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL,
    bio TEXT COLLATE "C" NOT NULL,
    links TEXT COLLATE "C" NOT NULL,
    avatar_cid TEXT COLLATE "C",
    avatar_size BIGINT NOT NULL DEFAULT 0,
    updated_at BIGINT NOT NULL,
    checksum BIGINT
);

CREATE INDEX profiles_by_avatar ON profiles (avatar_cid) WHERE avatar_cid IS NOT NULL;
