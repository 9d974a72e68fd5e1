"""The lab's pages: a browser's request becomes a session, and what it shows becomes JSON in the reader's words.

admission permissions in the lab
addresses addresses of pages that open a session
requests  a session out of a request's body, within bounds
answers   the answer for a session at a position
questions questions to the explorer from the stage
first_minute  two clicks that make an orphan entry
words     the words that stand on the stage
own       DDL of one's own, what to leave out of its plan, and what happens then
counterexamples  that of a plan's proof, for the pages of changes
ladders   orders of tiles, as a browser sends and plays them
ladder_form  a design as tiles, and the run that answers it
ladder_words  the words of the ladder and its player
explorer  every built-in model, every rule, a model of one's own
why_it_waits, why_a_change_waits  from a wait on another page to a session that explains it
exports   a session as a file: picture, JSON, golden script
gallery   famous anomalies, each a session to open
feats     what a chapter asks for on the live cluster
replays   a session on the live cluster: asked for, watched, both verdicts
replay_part  a replay as its page shows it: verdicts, both stores, lanes
recorded  a replay that was recorded, for those who may not ask for one
polls     a question to the room, on any session of the stage
urls      pages that need no cluster, which a browser runs too
courses/  chapters, and classes that go through them
"""
