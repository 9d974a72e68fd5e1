"""The lab: its front page, the stage, questions to the explorer, chapters, courses, and doors from other pages."""

from django.urls import path

from lab import views
from lab.learning import views as chapters
from lab.pages import doors, explorer, exports, ladders, own, polls, replays
from lab.pages.admission import for_teachers, for_teachers_open_page
from lab.pages.courses import classroom, endings, handouts, joining, pacing

urlpatterns = [
    path("lab/", views.lab, name="lab"),
    path("lab/stage/", views.stage, name="stage"),
    path("lab/live/", replays.live, name="replays"),
    path("lab/live/sandboxes/", replays.sandboxes, name="sandboxes"),
    path("lab/live/<int:pk>/", replays.replay, name="replay"),
    path("lab/explorer/", explorer.explorer, name="lab-explorer"),
    path("lab/own/", own.own, name="own"),
    path("lab/own/ask/", own.ask, name="own-ask"),
    path("lab/own/answers/<int:pk>/", own.answer, name="own-answer"),
    path("lab/models/<str:name>/", explorer.model, name="lab-model"),
    path("lab/without/<str:rule>/", explorer.without, name="lab-without"),
    path("lab/why/changes/<int:pk>/", doors.why_change, name="lab-why-change"),
    path("lab/why/waits/", doors.why_it_waits, name="why-it-waits"),
    path("lab/why/<str:situation>/", doors.why, name="lab-why"),
    path("lab/stage/export.<str:form>", exports.export, name="stage-export"),
    path("lab/stage/random/", views.random_step, name="stage-random"),
    path("lab/ladder/", ladders.ladder, name="ladder"),
    path("lab/ladder/<int:pk>/", ladders.ladder_question, name="ladder-question"),
    path("lab/questions/", views.ask, name="question-ask"),
    path("lab/questions/saving/", views.saving, name="question-saving"),
    path("lab/questions/<int:pk>/", views.question, name="question"),
    path("lab/questions/<int:pk>/stop/", views.stop_question, name="question-stop"),
    path("lab/chapters/<str:chapter_id>/", chapters.chapter, name="chapter"),
    path("lab/chapters/<str:chapter_id>/handout/", handouts.handout, name="chapter-handout"),
    path("lab/chapters/<str:chapter_id>/<str:screen_id>/", chapters.screen, name="chapter-screen"),
    path("lab/chapters/<str:chapter_id>/<str:screen_id>/answer/", chapters.answer, name="chapter-answer"),
    path("lab/chapters/<str:chapter_id>/<str:screen_id>/reached/", chapters.reached_so_far, name="chapter-reached"),
    path("lab/chapters/<str:chapter_id>/<str:screen_id>/hint/", chapters.hint, name="chapter-hint"),
    path("lab/chapters/<str:chapter_id>/<str:screen_id>/solution/", chapters.solution, name="chapter-solution"),
    path("lab/courses/", for_teachers(classroom.courses), name="courses"),
    path("lab/courses/<int:pk>/", for_teachers(classroom.course), name="course"),
    path("lab/courses/<int:pk>/grid/", for_teachers_open_page(classroom.grid), name="course-grid"),
    path("lab/courses/<int:pk>/change/", for_teachers(classroom.change), name="course-change"),
    path("lab/courses/<int:pk>/pace/", for_teachers(pacing.set_pace), name="course-pace"),
    path("lab/courses/<int:pk>/projector/", for_teachers(pacing.projector), name="course-projector"),
    path(
        "lab/courses/<int:pk>/projector/counts/",
        for_teachers_open_page(pacing.projector_counts),
        name="course-projector-counts",
    ),
    path("lab/courses/<int:pk>/learners/<int:number>/", for_teachers(pacing.learner), name="course-learner"),
    path("lab/courses/<int:pk>/delete/", for_teachers(classroom.delete), name="course-delete"),
    path("lab/courses/<int:pk>/answers.csv", for_teachers(classroom.answers_csv), name="course-csv"),
    path(
        "lab/courses/<int:pk>/<int:number>/<str:chapter_id>/<str:screen_id>/",
        for_teachers(classroom.trace),
        name="course-trace",
    ),
    path("lab/done/", endings.course_done, name="course-done"),
    path("lab/course/", joining.my_course, name="my-course"),
    path("lab/course/pace/", pacing.pace_here, name="pace-here"),
    path("lab/course/step-out/", joining.step_out, name="step-out"),
    path("lab/course/leave/", joining.leave, name="leave-course"),
    path("lab/polls/", for_teachers(polls.polls), name="polls"),
    path("lab/polls/<int:pk>/", for_teachers(polls.poll), name="poll"),
    path("lab/polls/<int:pk>/counts/", for_teachers_open_page(polls.poll_counts), name="poll-counts"),
    path("lab/polls/<int:pk>/change/", for_teachers(polls.poll_change), name="poll-change"),
    path("vote/<str:token>/", polls.vote, name="vote"),
    path("join/<str:token>/", joining.join, name="join"),
]
