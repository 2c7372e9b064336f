"""R16: whatever an address looks like, it leaves the answer unless a cited passage has it."""

import pytest

from agent.links import addresses, scrubbed, visible

EVIL = (
    "https://evil.test/?q=secret",
    "http://evil.test",
    "HTTPS://EVIL.TEST/x",
    "hTtPs://evil.test/x",
    "<https://evil.test/x>",
    "[here](https://evil.test/x)",
    "[here]( https://evil.test/x )",
    '[here](https://evil.test/x "a title")',
    "[here](<https://evil.test/x y>)",
    "[he [re]](https://evil.test/x)",
    "[here] (https://evil.test/x)",
    "[here](https://evil.test/x",
    "![](https://evil.test/p.png)",
    "![alt](https://evil.test/p.png)",
    "![alt][pic]\n\n[pic]: https://evil.test/p.png",
    "[here][1]\n\n[1]: https://evil.test/x",
    "[here][ref]\n\n[ref]: https://evil.test/x 'title'",
    "[here][]\n\n[here]: https://evil.test/x",
    "[here]\n\n[here]: <https://evil.test/x>",
    "[ref]:\n  https://evil.test/x",
    "[![img](https://evil.test/p.png)](https://evil.test/x)",
    '<a href="https://evil.test/x">here</a>',
    '<img src="https://evil.test/p.png" alt="alt">',
    "<img src=https://evil.test/p.png>",
    '<iframe src="//evil.test/x"></iframe>',
    "<script>fetch('https://evil.test/x')</script>",
    '<div style="background:url(https://evil.test/x)">text</div>',
    "//evil.test/x",
    "see //evil.test/x now",
    "www.evil.test/x",
    "evil-site.com",
    "evil-site.com/path?q=1",
    "evil-site.co.jp/path",
    "sub.evil-site.io",
    "evil.zip/x?q=1",
    "evil.it/x",
    "EVIL-SITE.COM",
    "evil-site.com:8080",
    "https://user:pass@evil.test/x",
    "https://127.0.0.1:9/x",
    "https://[::1]/x",
    "https://2130706433/x",
    "javascript:alert(1)",
    "[here](javascript:alert(1))",
    "data:text/html;base64,PHNjcmlwdD4=",
    "[here](data:text/html,x)",
    "vbscript:msgbox(1)",
    "slack://channel?team=T1",
    "[here](slack://user?id=U1)",
    "mailto:thief@evil.test",
    "thief@evil-site.com",
    "tel:+819012345678",
    "ftp://evil.test/x",
    "file:///etc/passwd",
    "ht\u200btps://evil.test/x",
    "https:\u2060//evil.test/x",
    "evil\u200b-site\u00ad.com",
    "ｈｔｔｐｓ：／／evil.test/x",
    "evil-site．com/x",
    "xn--80ak6aa92e.com",
    "https://еvil.test/x",
    "詳細はevil-site.comへ",
    "詳細はhttps://evil.test/xへ",
    "「https://evil.test/x」",
    "`https://evil.test/x`",
    "```\ncurl https://evil.test/x\n```",
    "msteams:/l/chat/0/0?users=x",
    "intent://evil.test#Intent;end",
)


@pytest.mark.parametrize("text", EVIL)
def test_a_foreign_address_leaves_the_text(text: str) -> None:
    left = scrubbed(f"Answer.\n\n{text}\n\nEnd.", ())
    lowered = left.lower()
    for part in (
        "evil",
        "://",
        "javascript:",
        "data:",
        "vbscript:",
        "mailto:",
        "tel:",
        "passwd",
        "127.0",
        "<img",
        "<a ",
    ):
        assert part not in lowered
    assert "Answer." in left
    assert "End." in left


@pytest.mark.parametrize(
    "text",
    [
        "See config.py, README.md, manual.pdf and report.zip.",
        "Node.js and ASP.NET, e.g. version 3.11, i.e. the latest.",
        "It is done.It works. Version v1.2.3 of a/b and and/or.",
        "比率は 1/2 です。2024/04/01 に更新。10:30 に開始。",
        "Use `<your-name>` and ssh <user>@host.",
        "Refunds take 30 days [1] (see the note) [2].",
        "注意: 次のとおり。[注意]: この手順は一例です。",
        "👩\u200d💻 works, ☎\ufe0f too.",
        "A key: value pair, 9:00–17:30, C++ and C#.",
        "配列 `a[1]` と [メモ] のみ。",
    ],
)
def test_what_is_no_address_stays(text: str) -> None:
    assert scrubbed(text, ()) == text


@pytest.mark.parametrize(
    "text",
    [
        "See https://wiki.corp.example/a?b=1.",
        "See [the page](https://wiki.corp.example/a?b=1).",
        "See <https://wiki.corp.example/a?b=1>.",
        "Write to help@corp.example.",
    ],
)
def test_an_allowed_address_stays(text: str) -> None:
    kept = scrubbed(text, {"https://wiki.corp.example/a?b=1", "help@corp.example"})
    assert kept == text.replace("<", "").replace(">", "")


def test_an_allowed_address_allows_no_other_that_begins_with_it() -> None:
    allowed = {"https://wiki.corp.example/a"}
    assert scrubbed("x https://wiki.corp.example/a?leak=secret y", allowed) == "x y"
    assert scrubbed("x [t](https://wiki.corp.example/a/b) y", allowed) == "x t y"
    assert scrubbed("x https://wiki.corp.example.evil.test/a y", allowed) == "x y"


@pytest.mark.parametrize(
    "text",
    [
        "See https://ja.wikipedia.org/wiki/答え_(曖昧さ回避).",
        "See [the page](https://ja.wikipedia.org/wiki/答え_(曖昧さ回避)) and (https://ja.wikipedia.org/wiki/答え_(曖昧さ回避)).",
        "See (https://wiki.corp.example/a).",
    ],
)
def test_brackets_belong_to_an_address_when_it_opened_them(text: str) -> None:
    allowed = {"https://ja.wikipedia.org/wiki/答え_(曖昧さ回避)", "https://wiki.corp.example/a"}
    assert scrubbed(text, allowed) == text
    assert addresses(text) & allowed and "http" not in scrubbed(text, ())


@pytest.mark.parametrize("after", ["（社内限定）を。", "「規程」を。", "をご覧ください。", "に、人事が"])
def test_japanese_right_after_an_address_is_read_for_itself(after: str) -> None:
    allowed = {"https://wiki.corp.example/a", "https://wiki.corp.example"}
    text = "詳細はhttps://wiki.corp.example/a"
    assert scrubbed(text + after, allowed) == f"{text} {after}"
    assert scrubbed(text + after, addresses(text + after)) == f"{text} {after}"
    assert "evil" not in scrubbed(f"{text}{after[0]}https://evil.test/secret{after}", allowed)


def test_an_address_ends_before_a_japanese_bracket() -> None:
    assert addresses("https://wiki.corp.example/a（社内限定）") == {"https://wiki.corp.example/a"}


def test_of_an_address_that_goes_on_in_japanese_both_are_one() -> None:
    assert addresses("詳細はhttps://wiki.corp.example/aをご覧ください。") >= {"https://wiki.corp.example/a"}
    assert addresses("https://ja.wikipedia.org/wiki/答え と") >= {"https://ja.wikipedia.org/wiki/答え"}
    assert addresses("https://日本.example/a") == {"https://日本.example/a"}
    url = "https://ja.wikipedia.org/wiki/JRの歴史"
    assert scrubbed(f"{url}。また{url}も", {url}) == f"{url}。また{url} も"


def test_addresses_of_this_machine_stay_in_code_only() -> None:
    assert "localhost:8080" in scrubbed("```\ncurl http://localhost:8080/x\n```", ())
    assert "localhost" not in scrubbed("Open http://localhost:8080/x now", ())


def test_the_addresses_of_a_text() -> None:
    text = "A https://a.example/x, [b](https://b.example/y) <https://c.example> d@e.example。http://f.example/z。"
    assert addresses(text) == {
        *("https://a.example/x", "https://b.example/y", "https://c.example", "d@e.example", "http://f.example/z"),
    }


def test_an_address_in_emphasis_stays() -> None:
    found = addresses("Mails are named _First.Last@acme.example.com_.")
    assert (
        scrubbed("Mails are named First.Last@acme.example.com.", found)
        == "Mails are named First.Last@acme.example.com."
    )


def test_hidden_characters_go() -> None:
    assert visible("a\u200bb\u202ec\U000e0041d\x07e\ufeff") == "abcde"


@pytest.mark.parametrize(
    "piece", ["<img ", "a", "a.", "a@", "www.", "<", "[", "![", "http://a(", "http://a（", "[x](http://a("]
)
def test_no_text_hangs_a_turn(piece: str) -> None:
    scrubbed(piece * 4_000, ())  # one image's pattern once took minutes for this


def test_an_address_behind_a_sign_is_one_too() -> None:
    assert "evil" not in scrubbed('@www.evil.test/x 0//evil.test/x <img src="http://evil.test" alt="a cat">', ())
