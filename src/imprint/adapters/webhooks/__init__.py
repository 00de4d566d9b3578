"""The two providers of event deliveries, described by how they sign and shape a body."""
