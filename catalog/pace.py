"""A rate limit: a token bucket."""

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """`per_s` a second steadily, `burst` at once."""

    per_s: float
    burst: float
    level: float = -1.0
    filled_at: float = 0.0

    def take(self, now: float) -> bool:
        """False when there is no token."""
        if self.level < 0:
            self.level, self.filled_at = self.burst, now
        self.level = min(self.burst, self.level + (now - self.filled_at) * self.per_s)
        self.filled_at = now
        if self.level < 1:
            return False
        self.level -= 1
        return True
