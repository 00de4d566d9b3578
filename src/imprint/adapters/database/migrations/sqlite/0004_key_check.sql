-- The ids of the master keys that documents may be encrypted by, in hexadecimal digits, separated by
-- spaces; NULL before a process of this release has looked.
ALTER TABLE installation ADD COLUMN master_keys TEXT;
