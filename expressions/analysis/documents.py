"""Functions that make a json or a jsonb of values of any types: the type that they give."""

from expressions.sqltypes import DOCUMENTS, JSON, TEXT, Type

BUILT: dict[str, Type] = {"row_to_json": JSON, "array_to_json": JSON} | {
    f"{beginning}{of}{end}": TEXT if end == "_extract_path_text" else of
    for of in DOCUMENTS
    for beginning, end in (
        ("to_", ""), ("", "_build_object"), ("", "_build_array"), ("", "_extract_path"), ("", "_extract_path_text"),
    )
}  # fmt: skip
AGGREGATES = {f"{of}{end}": of for of in DOCUMENTS for end in ("_agg", "_object_agg")}
"""Those that take them of all rows."""
