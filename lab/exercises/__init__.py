"""Chapters of the lab: files that anybody may write, read into values, checked, and graded on the server.

    chapters/01-one-jump/exercise.toml   structure: set-up, screens, tasks, answers; the same for all languages
                         en.md           texts by key
                         zh-hans.md

chapter       the values: chapters, screens, tasks
reading       exercise.toml into a chapter
texts         Markdown into texts by key
readings      other texts that chapters point to, in the reader's language
shelf         folders of chapters
observations  questions about a session, and the machine's answers
goals         broken clauses in words
grading       a learner's answer, right or wrong
replies       texts that answer a wrong answer
pair_texts    pairs that a question offers, in words
pictures      the session that a chapter's picture shows
routers       requests of a router with an old schema, as chapter 10 asks for them
vocabulary    the steps that a chapter is about
reached       the goal, or other damage, while a learner plays
adversary     a game against somebody who has the nodes
grammars      grammars and questions that packages above the lab add
designs       sequences that learners write, judged
judgement     the verdict on one, with its reasons
item_run      the run that answers an item of a prediction
runs          runs that answer predictions which no stage plays
clock_runs    clocks that answer questions about time
checking      everything that may be wrong with a chapter
"""
