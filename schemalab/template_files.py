"""Loads templates without their indentation, which is for their readers: no page or live part carries it."""

import re

from django.template import Origin
from django.template.loaders import filesystem


class Loader(filesystem.Loader):
    def get_contents(self, origin: Origin) -> str:
        return re.sub(r"\n[ \t]+", "\n", super().get_contents(origin))
