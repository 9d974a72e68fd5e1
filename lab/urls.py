"""The lab: pages that need no cluster (`lab.pages.urls`), replays on the cluster, courses and polls."""

from django.urls import include, path

from lab.pages import polls, replays, why_a_change_waits
from lab.pages.admission import for_teachers, for_teachers_open_page, while_the_course_exists
from lab.pages.courses import classroom, joining, pacing

urlpatterns = [
    path("lab/live/", replays.live, name="replays"),
    path("lab/live/sandboxes/", replays.sandboxes, name="sandboxes"),
    path("lab/live/<int:pk>/", replays.replay, name="replay"),
    path("lab/why/changes/<int:pk>/", why_a_change_waits.why_change, name="lab-why-change"),
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
    path("lab/course/", while_the_course_exists(joining.my_course), name="my-course"),
    path("lab/course/pace/", pacing.pace_here, name="pace-here"),
    path("lab/course/step-out/", joining.step_out, name="step-out"),
    path("lab/course/leave/", joining.leave, name="leave-course"),
    path("lab/polls/", for_teachers(polls.polls), name="polls"),
    path("lab/polls/<int:pk>/", for_teachers(polls.poll), name="poll"),
    path("lab/polls/<int:pk>/counts/", for_teachers_open_page(polls.poll_counts), name="poll-counts"),
    path("lab/polls/<int:pk>/change/", for_teachers(polls.poll_change), name="poll-change"),
    path("vote/<str:token>/", polls.vote, name="vote"),
    path("join/<str:token>/", joining.join, name="join"),
    path("", include("lab.pages.urls")),
]
