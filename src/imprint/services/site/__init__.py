"""What pages for people show."""
