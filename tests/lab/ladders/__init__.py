"""Orders of tiles: what is safe, what arrives, and how it is played."""
