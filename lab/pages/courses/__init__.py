"""The pages of chapters, and of classes that go through them.

chapters     chapters as lists and heads show them; which can be done, which comes next
task_state   a task on its screen: the last answer, a game, a search
task_runs    the runs that answer a prediction
endings      the end of a chapter, and everything that was done
handouts     a sheet of paper for each chapter
joining      a learner's way into a course, and out of it
classroom    a teacher's courses: their grids, traces, CSV
pacing       a class at its teacher's pace, the projector, a learner's first answers
course_grid    the grid and the counted answers as pages draw them
"""
