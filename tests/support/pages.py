"""Scripts and data of a report page, as a browser finds them."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

__all__ = ["data_of", "foreign_scripts", "scripts_of"]


class _Scripts(HTMLParser):
    """The script elements of a page: attributes and content of each."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.inside = tag == "script"
        if self.inside:
            self.found.append([dict(attrs), ""])

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.found[-1][1] += data


def scripts_of(page):
    """Return (attributes, content) of each script element."""
    return [tuple(own) for own in _Scripts(page).found]


def foreign_scripts(page):
    """Return the script elements that the page's own policy does not name, and that are no data."""
    named = re.findall("script-src '([^']*)'", page.split("</head>")[0])
    return [
        own
        for own in scripts_of(page)
        if own[0].get("type") != "application/json"
        and ("src" in own[0] or f"sha256-{b64encode(sha256(own[1].encode()).digest()).decode()}" not in named)
    ]


def data_of(page):
    """Return the data elements of a page by their id."""
    return {
        attrs["id"]: json.loads(content)
        for attrs, content in scripts_of(page)
        if attrs.get("type") == "application/json"
    }
