"""The pages of the lab that need no cluster: a browser runs them too (`schemalab.anywhere`)."""

from django.urls import path

from lab import views
from lab.learning import views as chapters
from lab.pages import explorer, exports, ladders, own, recorded, why_it_waits
from lab.pages.admission import while_the_course_exists
from lab.pages.courses import endings, handouts

urlpatterns = [
    path("lab/", while_the_course_exists(views.lab), name="lab"),
    path("lab/stage/", views.stage, name="stage"),
    path("lab/explorer/", explorer.explorer, name="lab-explorer"),
    path("lab/own/", own.own, name="own"),
    path("lab/own/ask/", own.ask, name="own-ask"),
    path("lab/own/answers/<int:pk>/", own.answer, name="own-answer"),
    path("lab/live/recorded/<str:name>/", recorded.recorded, name="recorded"),
    path("lab/models/<str:name>/", explorer.model, name="lab-model"),
    path("lab/without/<str:rule>/", explorer.without, name="lab-without"),
    path("lab/why/waits/", why_it_waits.why_it_waits, name="why-it-waits"),
    path("lab/why/<str:situation>/", why_it_waits.why, name="lab-why"),
    path("lab/stage/export.<str:form>", exports.export, name="stage-export"),
    path("lab/stage/random/", views.random_step, name="stage-random"),
    path("lab/ladder/", ladders.ladder, name="ladder"),
    path("lab/ladder/<int:pk>/", ladders.ladder_question, name="ladder-question"),
    path("lab/questions/", views.ask, name="question-ask"),
    path("lab/questions/saving/", views.saving, name="question-saving"),
    path("lab/questions/<int:pk>/", views.question, name="question"),
    path("lab/questions/<int:pk>/stop/", views.stop_question, name="question-stop"),
    path("lab/chapters/<str:chapter_id>/", while_the_course_exists(chapters.chapter), name="chapter"),
    path("lab/chapters/<str:chapter_id>/handout/", handouts.handout, name="chapter-handout"),
    path(
        "lab/chapters/<str:chapter_id>/<str:screen_id>/",
        while_the_course_exists(chapters.screen),
        name="chapter-screen",
    ),
    path(
        "lab/chapters/<str:chapter_id>/<str:screen_id>/answer/",
        while_the_course_exists(chapters.answer),
        name="chapter-answer",
    ),
    path("lab/chapters/<str:chapter_id>/<str:screen_id>/reached/", chapters.reached_so_far, name="chapter-reached"),
    path(
        "lab/chapters/<str:chapter_id>/<str:screen_id>/hint/",
        while_the_course_exists(chapters.hint),
        name="chapter-hint",
    ),
    path(
        "lab/chapters/<str:chapter_id>/<str:screen_id>/solution/",
        while_the_course_exists(chapters.solution),
        name="chapter-solution",
    ),
    path("lab/done/", endings.course_done, name="course-done"),
]
