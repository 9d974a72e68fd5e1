"""The pages of chapters, and of classes that go through them.

chapters     chapters as lists and heads show them; which can be done, which comes next
seen         what a screen shows of its task: the last answer, a game, a search
handouts     a sheet of paper for each chapter
joining      a learner's way into a course, and out of it
classroom    a teacher's courses: their grids, traces, CSV
course_grid    the grid and the counted answers as pages draw them
"""
