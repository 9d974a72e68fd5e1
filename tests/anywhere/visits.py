"""`python -m tests.anywhere.visits LANGUAGE SCREEN ..`: walks through screens on a browser's site; prints JSON."""

import json
import os
import sys
from urllib.parse import urlencode

from schemalab.anywhere.loaded import OnlyWhatIsThere

FORM = "application/x-www-form-urlencoded"


def main(language: str, screens: list[str]) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "schemalab.anywhere.settings"
    sys.meta_path.insert(0, OnlyWhatIsThere())
    import django

    django.setup()
    from schemalab.anywhere.searches import search
    from schemalab.anywhere.site import Site
    from schemalab.anywhere.walk import Request, Response, walk

    site = Site("/")

    def visit(request: Request) -> Response:
        body = urlencode(request.form or {}, doseq=True).encode()
        method = "GET" if request.form is None else "POST"
        headers = {"Content-Type": FORM, "Accept-Language": language}
        answer = site.answer(method, f"/{request.address}", body, headers)
        location = dict(answer.headers).get("Location", "").removeprefix("/")
        return Response(answer.status, location, answer.body.decode())

    def answer_search() -> None:
        waiting = site.next_search()
        assert waiting is not None
        site.searched(waiting[0], search(waiting[1], lambda _: None))

    for request, response in walk(visit, answer_search, screens):
        print(json.dumps([request.address, response.status, response.location, response.body]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
