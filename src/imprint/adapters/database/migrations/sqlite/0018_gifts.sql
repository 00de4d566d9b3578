-- Who got the post that somebody else bought, and the contract whose events say so.
ALTER TABLE purchases ADD COLUMN receiver TEXT;
ALTER TABLE index_state ADD COLUMN adapter TEXT;
