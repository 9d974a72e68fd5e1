"""Names of a result's columns when the query does not give them."""

from typing import Any

from postgast import pg_query_pb2 as pb

Node = Any


def star_of(node: Node) -> str | None:
    """ "" for *, the qualifier for t.*, None for anything else."""
    if node.WhichOneof("node") != "column_ref":
        return None
    fields = node.column_ref.fields
    if fields[-1].WhichOneof("node") != "a_star":
        return None
    return str(fields[-2].string.sval) if len(fields) > 1 else ""


NO_NAME = ("?column?", 0)


def implied_name(node: Node) -> str:
    return named(node)[0]


def named(node: Node) -> tuple[str, int]:
    """A name, and how strongly it suggests itself: 2 columns and functions, 1 casts and CASE, 0 nothing."""
    kind = node.WhichOneof("node")
    if kind == "column_ref":
        return str(node.column_ref.fields[-1].string.sval), 2
    if kind == "func_call":
        return str(node.func_call.funcname[-1].string.sval), 2
    if kind == "type_cast":
        inner = named(node.type_cast.arg)
        return inner if inner[1] > 1 else (str(node.type_cast.type_name.names[-1].string.sval), 1)
    if kind == "collate_clause":
        return named(node.collate_clause.arg)
    if kind == "a_expr" and pb.A_Expr_Kind.Name(node.a_expr.kind) == "AEXPR_NULLIF":
        return "nullif", 2
    if kind == "min_max_expr":
        return ("greatest" if node.min_max_expr.op == 1 else "least"), 2
    if kind == "coalesce_expr":
        return "coalesce", 2
    if kind == "sqlvalue_function":
        return pb.SQLValueFunctionOp.Name(node.sqlvalue_function.op).removeprefix("SVFOP_").lower().removesuffix(
            "_n"
        ), 2
    if kind == "case_expr":
        inner = named(node.case_expr.defresult) if node.case_expr.HasField("defresult") else NO_NAME
        return inner if inner[1] > 1 else ("case", 1)
    if kind == "merge_support_func":
        return "merge_action", 2
    if kind == "grouping_func":
        return "grouping", 2
    if kind == "a_array_expr":
        return "array", 2
    if kind == "a_indirection":
        return named(node.a_indirection.arg)
    if kind == "sub_link":
        return _named_subquery(node.sub_link)
    return NO_NAME


def _named_subquery(link: Node) -> tuple[str, int]:
    kind = pb.SubLinkType.Name(link.sub_link_type)
    if kind == "EXISTS_SUBLINK":
        return "exists", 2
    if kind == "ARRAY_SUBLINK":
        return "array", 2
    if kind == "EXPR_SUBLINK" and len(link.subselect.select_stmt.values_lists):
        return "column1", 2
    targets = link.subselect.select_stmt.target_list
    if kind != "EXPR_SUBLINK" or not len(targets):
        return NO_NAME
    target = targets[0].res_target
    return (str(target.name), 2) if target.name else named(target.val)
