"""The lanes of a sequence diagram: n1, n2, executor, fill, versions, store (or child, parent)."""

from lab.explorer.spaces.fill import Step

STORE, EXECUTOR, FILL, CATALOG = "store", "executor", "fill", "versions"
WRITES = frozenset({"clear", "purge", "delete", "remove"})


def ends(step: Step, store: str) -> tuple[str, str]:
    """The lanes from which and to which a step is drawn, "" for nowhere; `store` is that of its table."""
    match step:
        case ("given", *_):
            return EXECUTOR, store
        case ("publish", _):
            return EXECUTOR, CATALOG
        case ("fill", "read", *_):
            return store, FILL
        case ("fill", "put", *_):
            return FILL, store
        case ("fill", *_):
            return FILL, ""
        case (str(word), *_) if word in WRITES:
            return EXECUTOR, store
        case (str(node), "acquire", *_):
            return CATALOG, node
        case (str(node), "read", *_):
            return store, node
        case (str(node), "commit" | "run", *_):
            return node, store
        case (str(node), *verbs) if verbs and node[0] == "n":
            return node, ""
    return EXECUTOR, ""


def actor_of(step: Step) -> str:
    first = str(step[0])
    return first if first == FILL or (len(step) > 1 and first[0] == "n") else EXECUTOR
