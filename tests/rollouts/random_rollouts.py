"""Small rollouts drawn at random: two tables, a few columns, releases, backfills, triggers, deploys that may fail."""

from random import Random
from typing import Any

COLUMNS = ("name", "full_name", "nick")


def random_rollout(random: Random) -> dict[str, Any]:
    """The data of a rollout's file."""
    required = random.choice(("", " NOT NULL"))
    tables = [f"CREATE TABLE users (id bigint PRIMARY KEY, name text{required})"]
    has_profiles = random.random() < 0.5
    if has_profiles:
        refers = random.choice(("", " REFERENCES users (id)", " REFERENCES users (id) ON DELETE CASCADE"))
        tables.append(f"CREATE TABLE profiles (user_id bigint PRIMARY KEY{refers}, bio text)")
    deploys = [{"schema": "ALTER TABLE users ADD COLUMN full_name text" + random.choice(("", " DEFAULT 'Cy'", ""))}]
    for number in range(random.randint(2, 4)):
        kind = random.choice(("schema", "release", "backfill", "backfill", "trigger", "release"))
        if kind == "schema":
            deploys.append({"schema": random_schema(random, has_profiles)})
        elif kind == "release":
            deploys.append({"release": f"r{number + 2}", "does": random_operations(random, has_profiles)})
        elif kind == "backfill":
            deploys.append({"backfill": random_backfill(random, has_profiles)})
        else:
            new, old = random.sample(COLUMNS[:2], 2)
            trigger = {"on": "users", "when": f"NEW.{new} IS DISTINCT FROM OLD.{new}", "set": {old: f"NEW.{new}"}}
            deploys.append({"trigger": trigger})
    return {
        "tables": tables,
        "key": "id",
        "rows": random.choice((1, 2, 2)),
        "values": {"name": ["Ann", "Bob Lee"]},
        "before": {"release": "r1", "does": random_operations(random, has_profiles, first=True)},
        "deploy": deploys,
    }


def random_schema(random: Random, has_profiles: bool) -> str:
    column = random.choice(COLUMNS[:2])
    texts = [
        f"ALTER TABLE users ALTER COLUMN {column} SET NOT NULL",
        f"ALTER TABLE users ALTER COLUMN {column} DROP NOT NULL",
        f"ALTER TABLE users ALTER COLUMN {column} SET DEFAULT 'Dee'",
        f"ALTER TABLE users DROP COLUMN {column}",
        f"ALTER TABLE users RENAME COLUMN {column} TO nick",
        f"CREATE UNIQUE INDEX ON users ({column})",
        f"CREATE UNIQUE INDEX ON users (lower({column})) WHERE {column} <> 'Ann'",
        f"ALTER TABLE users ADD CONSTRAINT short CHECK (length({column}) < 5)",
        f"ALTER TABLE users ADD CONSTRAINT short CHECK (length({column}) < 5) NOT VALID",
        "ALTER TABLE users ADD COLUMN nick varchar(5) NOT NULL DEFAULT 'x'",
        f"ALTER TABLE users ALTER COLUMN {column} TYPE varchar(4)",
        f"ALTER TABLE users ALTER COLUMN {column} TYPE varchar(4) USING left({column}, 4)",
    ]
    if has_profiles:
        texts.append("ALTER TABLE profiles ADD FOREIGN KEY (user_id) REFERENCES users (id)")
    return random.choice(texts)


def random_backfill(random: Random, has_profiles: bool) -> str | list[str]:
    texts: list[str | list[str]] = [
        "UPDATE users SET full_name = name WHERE id = :id AND full_name IS NULL",
        "UPDATE users SET full_name = name WHERE id = :id AND full_name IS DISTINCT FROM name",
        "UPDATE users SET full_name = upper(name) WHERE full_name IS NULL",
        ["SELECT name AS seen FROM users WHERE id = :id", "UPDATE users SET full_name = :seen WHERE id = :id"],
        [
            "SELECT name AS seen FROM users WHERE id = :id FOR UPDATE",
            "UPDATE users SET full_name = :seen WHERE id = :id",
        ],
    ]
    if has_profiles:
        into = "INSERT INTO profiles (user_id, bio) SELECT id, name FROM users WHERE id = :id ON CONFLICT (user_id)"
        texts += [f"{into} DO NOTHING", f"{into} DO UPDATE SET bio = excluded.bio", f"{into} DO NOTHING"]
    return random.choice(texts)


def random_operations(random: Random, has_profiles: bool, *, first: bool = False) -> dict[str, Any]:
    """Operations over the columns that a release believes to be there."""
    columns = (
        ["name"] if first else random.choice((["name"], ["name", "full_name"], ["full_name"], ["name", "full_name"]))
    )
    names = ", ".join(columns)
    create: Any = f"INSERT INTO users (id, {names}) VALUES (:id, {', '.join([':name'] * len(columns))})"
    rename: Any = f"UPDATE users SET {', '.join(f'{one} = :name' for one in columns)} WHERE id = :id"
    read = random.choice(columns)
    does: dict[str, Any] = {"show": f"SELECT {read} AS name FROM users WHERE id = :id"}
    if has_profiles and random.random() < 0.6:
        upsert = "INSERT INTO profiles (user_id, bio) VALUES (:id, :name) ON CONFLICT (user_id) DO "
        create = [create, upsert + random.choice(("NOTHING", "UPDATE SET bio = :name"))]
        rename = [rename, random.choice(("UPDATE profiles SET bio = :name WHERE user_id = :id", upsert + "NOTHING"))]
        if random.random() < 0.3:
            rename = rename[::-1]
    does |= {"create": create, "rename": rename}
    extra = {
        "delete": "DELETE FROM users WHERE id = :id",
        "list": f"SELECT id, {read} AS name FROM users",
        "touch": {
            "sql": [
                f"SELECT {read} AS seen FROM users WHERE id = :id",
                f"UPDATE users SET {read} = :seen WHERE id = :id",
            ],
            "autocommit": random.random() < 0.4,
        },
        "all": f"UPDATE users SET {read} = lower({read}) WHERE {read} <> 'ann'",
        "save": [
            f"SELECT {read} AS seen FROM users WHERE id = :id FOR UPDATE",
            f"UPDATE users SET {read} = :name WHERE id = :id AND {read} = :seen",
        ],
    }
    for name in random.sample(sorted(extra), random.randint(0, 2)):
        does[name] = extra[name]
    return does
