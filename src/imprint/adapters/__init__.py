"""The world outside, behind the ports: catalog, content, chain, deliveries, clock."""
