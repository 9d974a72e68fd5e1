"""With your own tables: a DDL statement of one's own, what to leave out of its plan, and what happens then.

statements  the statements of a text, each with the plan of the product's own planner
cases       the parts of a plan as models, and what may be left out of each
orders      a case as an order of tiles
naming      a model's names in the schema of a plan
examples    values that a row of that schema may have
sessions_of_changes  a change that waits or has failed, as a session on its own plan
findings    the explorer's answer told in these names
allowance   the planning time that a visitor may use
counterexample  that of a plan's proof, as a session with these names
"""
