"""Rollouts as lessons: the fourth kind of session of the lab, and the tasks of its chapter.

plans      the lessons' files; deploys by their titles, in any order
steps      the steps of a session by their names
sessions   the set-up, and everything that a session shows
drawing    a world as the stage draws it: releases as versions, columns in states, rows as pairs
film       a trace, or a quiet run, as the ladder's player plays it
designs    orders of deploys that learners build, judged
questions  questions of predictions, answered by exploring
"""
