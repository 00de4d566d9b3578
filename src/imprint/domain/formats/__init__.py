"""Encodings and identifiers, such as CIDs, addresses, ABI and CAR."""
