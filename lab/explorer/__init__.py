"""Every schedule of a small model of a schema change, judged in every state.

model          what is explored: elements, their states in each version, rules left out, sizes
small_tables   the tables that plans are explored on, in each version
planners       the planner's own plan of a statement on them: what a safe variant explores
by_hand        a plan written by hand, in which a rule may be left out
program        a plan as the executor walks it, with its steps back
contents       what statements and reorganisations do to pairs, by calling `storage.mutations`
itself         a table that refers to itself
linked         the same where rows of one table refer to rows of another
full_space     one world step by step: what each actor may do now, and why not
reduced_space  the same world with transactions as single events: far fewer states
commits        sessions lost at COMMIT, over a store that crashes and gives ids out again
fill           the fill, range by range, with a second worker
symmetry       worlds that differ in names only
search         breadth first until a clause breaks, everything is seen, or the budget is spent
witness        a short way into a broken world, as steps of the plain model
verdict        proved, violated or unknown
planned        the proof of an actual plan
replay         where a list of steps leads, and what may be next
variants_page  the page about all variants
variants       the safe sequences and the broken ones that are known
cache          answers that are kept, under
fingerprint    the text of all the rules
narration      a trace in sentences
"""
