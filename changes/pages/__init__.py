"""A change as people see it: pure functions from its rows to words and drawings.

plan_json      a plan and its steps as data
change_page    a change as its page shows it
timeline       its steps on a line
plan_ladder    a plan as the ladder of the lab, with the nodes as flags
preview        the effect of a plan
writers        the statements that it makes nodes refuse, from which version on
estimates      the time that a reorganisation will take, before there is a rate to see
refused        a statement that cannot become a plan
failure        the cause of a failed change, and the query that finds its rows
failure_codes  the SQLSTATE of a failed change
picture        the facts from which a browser draws the cluster
"""
