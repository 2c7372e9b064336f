"""The browser's channel as its members see it: asked, watched, voted on, and what is not for everybody."""

import pytest
from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement
from nicegui.testing import User
from nicegui.testing.user_interaction import UserInteraction

from adapters.runner import PeopleReach
from adapters.web.channel.events import link
from adapters.web.channel.rooms import MEMBERS, ROOMS
from adapters.web.pages.channel.message_list import SHOWN
from adapters.web.visitor import Site
from agent.events import Citation
from agent.grounding.quantities import squeeze
from bot.config.settings import DEFAULT_GEMINI
from bot.records import BotMessage, RoomMessage
from bot.turns.event_json import citation_json
from retrieval.i18n import Language
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import agree, press
from tests.adapters.web.pages.waiting import sees
from tests.adapters.web.spots import spot

AKI, BEN = MEMBERS
GENERAL, LEADS = ROOMS


def write(user: User, text: str, *, thread: bool = False) -> None:
    """Type into the room's field, or the thread's, and press Enter."""
    fields = sorted(user.find(kind=ui.textarea).elements, key=lambda one: one.id)
    UserInteraction(user, {fields[-1 if thread else 0]}, None).trigger("keydown.enter", text)


async def kept(site: Site, room: int = 0) -> list[RoomMessage]:
    return await site.web.board.messages(ROOMS[room], AKI)


async def answer(site: Site, root: int) -> RoomMessage:
    found: list[RoomMessage] = []

    async def there() -> bool:
        found[:] = [one for one in await site.web.board.messages(GENERAL, AKI, root) if one.kind == "answer"]
        return bool(found)

    await until(there)
    return found[0]


async def test_a_question_is_answered_in_its_thread_with_what_it_was_made_from(visit: Visit, site: Site) -> None:
    user = visit(language="ja")
    await user.open("/app/")
    write(user, "@kotae 出張の日当はいくらですか？")
    await sees(user, "出典")
    await sees(user, "検索 1 回 · 抜粋")
    await user.should_see("🤔 見直し")
    (folded,) = [one for one in user.find(kind=ui.element).elements if "kotae-folded" in one.classes]
    assert folded.tag == "details" and "open" not in folded.props
    found = await answer(site, (await kept(site))[0].id)
    await user.should_see("[1] 経費精算と出張（sample）")
    source = next(iter(user.find(kind=ui.expansion).elements))
    with user:
        source.set_value(True)
    await sees(user, "食事代は日当に含まれる")
    await user.should_see("回答の過程")
    assert found.data["outcome"] == "answered"
    cited = found.data["citations"][0]
    openings = [link for link in user.find(kind=ui.link).elements if "kotae-to-document" in link.classes]
    assert len(openings) == len(found.data["citations"])
    await user.open(f"/app{min(openings, key=lambda link: link.id).props['href'].removeprefix('/app')}")

    async def marked() -> list[str]:
        return [one.text for one in user._gather_elements(TextElement, None, None, None) if one.tag == "mark"]

    (whole,) = await until(marked)  # the sentence that the source points at
    assert squeeze(whole).startswith(squeeze(cited["quote"].removesuffix("…"))) and whole.endswith("。")
    await user.should_see(kind=ui.label, marker="title", content="ja/keihi-shuccho.md")


async def test_a_name_alone_is_answered_in_the_language_of_the_page(visit: Visit, site: Site) -> None:
    found, not_found = "I could not find", "情報が見つかりませんでした"
    for language, room, says in (("ja", GENERAL, not_found), ("en", LEADS, found)):
        user = visit("aki", language)
        await user.open(f"/app/?room={room.id}")
        write(user, "@kotae QXZ-4071?")
        await sees(user, says)


@pytest.mark.parametrize(
    ("text", "other", "says"),
    [
        ("@kotae Where is the QXZ-4071?", "ja", "I could not find"),
        ("@kotae QXZ-4071 はどこですか？", "en", "情報が見つかりませんでした"),
    ],
)
async def test_words_go_before_the_language_of_the_page_also_those_of_the_thread(
    site: Site, text: str, other: Language, says: str
) -> None:
    asked = await site.web.say(AKI, GENERAL, text, language=other)
    assert isinstance(asked, RoomMessage)
    assert says in (await answer(site, asked.id)).text
    await site.web.say(AKI, GENERAL, "@kotae WXZ-88?", asked.id, language=other)
    there = await until(
        lambda: site.web.board.messages(GENERAL, AKI, asked.id),
        lambda found: sum(one.kind == "answer" for one in found) == 2,
    )
    assert says in there[-1].text


async def test_doubt_stands_in_front_of_an_answer_and_a_date_beside_its_source(visit: Visit, site: Site) -> None:
    asked = await site.web.say(BEN, GENERAL, "Where is the key?")
    assert isinstance(asked, RoomMessage)
    cited = [citation_json(Citation(1, "ja/keihi-shuccho.md", "sample", 0, "Under the mat.", None, "2026-04-01"))]
    for turn, unsure in (("1" * 32, True), ("2" * 32, False)):
        data = {"turn": turn, "asked": asked.id, "outcome": "answered", "unsure": unsure, "model": "m", "seconds": 1.0}
        said = BotMessage("general", asked.id, turn, "answer", f"Mat. [{unsure}]", data=data | {"citations": cited})
        await site.web.board.put(said)
    user = visit(language="ja")
    await user.open(f"/app/?room=general&thread={asked.id}")
    await sees(user, "[1] ja/keihi-shuccho.md（sample、2026年4月1日）")
    (doubt,) = user.find(marker="unsure").elements
    assert isinstance(doubt, ui.label) and doubt.text == "確信はありません。"


async def test_the_field_to_write_in_has_the_focus_and_a_link_leads_to_it(visit: Visit, site: Site) -> None:
    def focused(user: User) -> list[str]:
        return [field.props["label"] for field in user.find(kind=ui.textarea).elements if "autofocus" in field.props]

    asked = await site.web.say(BEN, GENERAL, "Where is the key?")
    assert isinstance(asked, RoomMessage)
    user = visit(language="ja")
    await user.open("/app/")
    assert focused(user) == ["全体 へのメッセージ"]
    await user.should_see("メッセージの入力欄へ")
    user.find("返信する").click()
    await sees(user, "スレッドに返信")
    assert "スレッドに返信" in focused(user)
    await user.open(f"/app/?room=general&thread={asked.id}")
    assert focused(user) == ["スレッドに返信"]
    await user.open("/app/")
    write(user, "@kotae 出張の日当はいくらですか？")
    await sees(user, "スレッドに返信")
    assert focused(user) == ["全体 へのメッセージ"]  # where they are writing


async def test_a_link_to_an_old_message_shows_it_and_what_came_after(visit: Visit, site: Site) -> None:
    root = await site.web.board.post(GENERAL, BEN, "The first word.")
    said = [await site.web.board.post(GENERAL, BEN, f"word {n}", root.id) for n in range(2 * SHOWN + 5)]
    user = visit()
    await user.open(f"/app/{link(said[20], '').partition('/app/')[2]}")
    await sees(user, "word 20")
    assert {f"m{one.id}" for one in said[20:]} <= {box.props.get("id") for box in user.find(kind=ui.element).elements}
    await user.should_not_see("word 0")
    await user.should_see("Earlier messages")
    await user.open(f"/app/{link(root, '').partition('/app/')[2]}")
    await sees(user, "word 0")
    with pytest.raises(AssertionError):
        user.find("Earlier messages")


async def test_a_file_for_one_thread_is_quoted_there_and_opens_nowhere_else(visit: Visit, site: Site) -> None:
    await site.web.say(
        AKI,
        GENERAL,
        "@kotae On which pier do the ships moor?",
        files=[("p.md", b"# Pier\n\nThe ships moor at pier nine.\n")],
    )
    await answer(site, (await kept(site))[0].id)
    user = visit()
    await user.open(f"/app/?room=general&thread={(await kept(site))[0].id}")
    await sees(user, "[1] Pier")
    assert not [link for link in user.find(kind=ui.link).elements if "kotae-to-document" in link.classes]


async def test_a_vote_counts_at_once_and_its_reason_with_the_form(visit: Visit, site: Site) -> None:
    user = visit()
    await user.open("/app/")
    write(user, "@kotae How many reviews does a change need before it is merged?")
    await sees(user, "👎")
    found = await answer(site, (await kept(site))[0].id)
    (source,) = user.find(kind=ui.expansion).elements
    user.find("👎").click()
    await sees(user, "What was wrong?")
    voted = await site.web.votes(AKI, [found.id])
    assert voted[found.id].vote == "down"
    with user:
        next(iter(user.find(kind=ui.radio).elements)).set_value("outdated")
    user.find(content="Send", kind=ui.button).click()
    await sees(user, "This goes to the people who can answer it")
    voted = await site.web.votes(AKI, [found.id])
    assert voted[found.id].reason == "outdated"
    missed = await site.app.bot.experts.open(*spot("general"))
    assert [each.reason for each in missed.questions] == ["reported"]
    user.find("👍").click()
    await until(lambda: site.web.votes(AKI, [found.id]), lambda votes: votes[found.id].vote == "up")

    async def pressed() -> bool:
        (up,) = user.find(content="👍", kind=ui.button).elements
        return up.props["aria-pressed"] == "true" and "kotae-voted" in up.classes

    await until(pressed)
    assert not source.is_deleted  # what is open stays open, and the focus where it is


async def test_one_browser_sees_what_another_writes(visit: Visit, site: Site) -> None:
    aki = visit("aki")
    await aki.open("/app/")
    await site.web.say(BEN, GENERAL, "lunch at **noon**?")
    await sees(aki, "<strong>noon</strong>")


async def test_a_private_room_is_not_there_for_others(visit: Visit, site: Site) -> None:
    await site.web.say(AKI, LEADS, "the secret of the leads")
    aki = visit("aki")
    await aki.open("/app/?room=leads")
    await sees(aki, "the secret of the leads")
    ben = visit("ben")
    await ben.open("/app/?room=leads&thread=1")
    await ben.should_not_see("the secret of the leads")
    await ben.should_not_see("leads")
    await ben.open("/app/?room=general&thread=1")
    await ben.should_not_see("the secret of the leads")


async def test_one_s_own_words_are_edited_and_deleted(visit: Visit, site: Site) -> None:
    mine = await site.web.say(AKI, GENERAL, "helo")
    await site.web.say(BEN, GENERAL, "hi")
    assert isinstance(mine, RoomMessage)
    user = visit("aki")
    await user.open("/app/")
    edit = user.find(kind=ui.button, content="edit")
    assert len(edit.elements) == 1  # Ben's are not for Aki
    edit.click()
    await sees(user, "Edit the message")
    with user:
        next(one for one in user.find(kind=ui.textarea).elements if one.value == "helo").set_value("hello")
    user.find(content="Save", kind=ui.button).click()
    await sees(user, "(edited)")
    user.find(kind=ui.button, content="delete_outline").click()
    await sees(user, "Delete this message?")
    agree(user, "Cancel")
    await user.should_not_see("Delete this message?")
    assert "hello" in [one.text for one in await kept(site)]
    user.find(kind=ui.button, content="delete_outline").click()
    await sees(user, "Delete this message?")
    press(user, "yes")

    async def gone() -> bool:
        return "hello" not in [one.text for one in await kept(site)]

    await until(gone)


async def test_a_thread_that_is_not_there_says_so(visit: Visit, site: Site) -> None:
    gone = "メッセージがありません。削除されたか、閲覧できません。"
    said = await site.web.say(AKI, GENERAL, "hello")
    assert isinstance(said, RoomMessage)
    user = visit(language="ja")
    await user.open(f"/app/?room=general&thread={said.id}")
    await user.should_not_see(gone)
    await site.web.delete(AKI, said.id)
    await sees(user, gone)
    other = visit(language="ja")
    await other.open(f"/app/?room=general&thread={said.id}")
    await sees(other, gone)


async def test_a_mention_without_words_is_no_question(visit: Visit, site: Site) -> None:
    user = visit(language="ja")
    await user.open("/app/")
    write(user, "@kotae ")
    await sees(user, "@kotae に続けて質問を書いてください。")
    assert await kept(site) == []


async def test_a_command_s_card_is_for_its_asker_alone(visit: Visit, site: Site) -> None:
    user = visit(language="ja")
    await user.open("/app/")
    write(user, "/kotae collections")
    await sees(user, "この表示はあなただけに見えています")
    await user.should_see("sample")
    assert await kept(site) == []
    agree(user, "閉じる")
    assert not [one for one in user.find(kind=ui.dialog).elements if one.value]


async def test_a_file_that_is_dropped_is_knowledge_then(visit: Visit, site: Site) -> None:
    user = visit("ben")
    await user.open("/app/")
    added = await site.web.add_files(BEN, GENERAL, [("harbour.md", b"# Harbour\n\nShips moor at pier nine.\n")])
    await sees(user, "harbour.md")

    async def read() -> bool:
        found = next(one for one in await kept(site) if one.id == added.id)
        return bool(found.data["done"] == found.data["total"])

    await until(read)
    write(user, "@kotae Where do ships moor?")
    await sees(user, "pier nine")


async def test_what_is_written_is_words_and_nothing_more(visit: Visit, site: Site) -> None:
    await site.web.say(BEN, GENERAL, "<img src=x onerror=alert(1)> <script>alert(2)</script> [x](javascript:alert(3))")
    user = visit("aki")
    await user.open("/app/")
    shown = [one.content for one in user.find(kind=ui.html).elements]
    assert shown and not any("<img" in text or "<script" in text or 'href="javascript' in text for text in shown)


async def test_wrong_choices_are_said(visit: Visit, site: Site) -> None:
    user = visit(language="ja")
    await user.open("/app/")
    user.find(kind=ui.button, content="tune").click()
    await sees(user, "このルーム全体の設定")
    with user:
        for one in user.find(marker="model", kind=ui.select).elements:
            one.set_options([*one.options, "nobody:nothing"], value="nobody:nothing")
    user.find(content="OK", kind=ui.button).click()
    await sees(user, "「nobody:nothing」というモデルはありません")
    assert (await site.web.preferences(AKI, GENERAL)).model is None


@pytest.mark.parametrize("options", [{"GEMINI_API_KEY": "AIza-not-used", "KOTAE_MODEL": "extractive"}])
async def test_a_model_is_chosen_from_those_that_are_set_up(visit: Visit, site: Site) -> None:
    user = visit()
    await user.open("/app/")
    user.find(kind=ui.button, content="tune").click()
    await sees(user, "Model (empty: extractive)")
    offered = [one.options for one in user.find(marker="model", kind=ui.select).elements]
    assert offered == [["extractive", DEFAULT_GEMINI]] * 2
    with user:
        for one in user.find(marker="model", kind=ui.select).elements:
            one.set_value("extractive")
    agree(user, "OK")
    await until(lambda: site.web.preferences(AKI, GENERAL), lambda room: room.model == "extractive")


async def test_a_person_is_asked_from_an_unsure_answer(visit: Visit, site: Site) -> None:
    """In the browser's channel that is the room of the digest; from a private room it takes a room that nobody else
    reads."""
    site.app.bot.asking.reach = PeopleReach([site.web], "web:general")
    user = visit()
    await user.open("/app/")
    write(user, "@kotae On which pier does the ferry to Heligoland moor?")
    await sees(user, "Ask a person")
    await answer(site, (await kept(site))[0].id)
    press(user, "ask-person")
    await sees(user, "I have asked #general")
    await sees(user, "Answer this")
    assert any(each.kind == "card" for each in await kept(site))

    japanese = visit("ben", "ja")  # in the words of whoever asked, also where the rooms are read in English
    await japanese.open("/app/")
    write(japanese, "@kotae ペンギンの餌は誰が買いますか？")
    await sees(japanese, "担当者に聞く")
    press(japanese, "ask-person")
    await sees(japanese, "#全体 に質問を届けました")

    await user.open("/app/?room=leads")
    write(user, "@kotae When is the whale started?")
    await sees(user, "Ask a person")
    press(user, "ask-person")
    await sees(user, "I found nobody to ask")
    assert sum(each.kind == "card" for each in await kept(site)) == 2


async def test_a_card_is_answered_by_its_form_or_by_a_reply_that_is_confirmed(visit: Visit, site: Site) -> None:
    site.app.bot.asking.reach = PeopleReach([site.web], "web:general")
    user = visit()

    async def cards() -> list[RoomMessage]:
        return [one for one in await kept(site) if one.kind == "card" and not one.data.get("status")]

    async def card(question: str) -> RoomMessage:
        asked = await site.web.say(AKI, GENERAL, f"@kotae {question}")
        assert isinstance(asked, RoomMessage)
        await answer(site, asked.id)
        await user.open(f"/app/?room=general&thread={asked.id}")
        await sees(user, "Ask a person")
        press(user, "ask-person")
        return (await until(cards))[0]

    await card("On which pier does the ferry to Heligoland moor?")
    await user.open("/app/")
    user.find("Answer this").click()
    await sees(user, "It will be found by these words")
    with user:
        next(iter(user.find(kind=ui.textarea, content="Answer").elements)).set_value("At pier nine.")
    user.find(content="Save", kind=ui.button).click()
    await until(cards, lambda left: not left)

    replied = await card("When is the whale started?")
    said = ("I would not know.", "No"), ("At dawn.", "Save as the answer"), ("No, at dusk.", "Replace the answer")
    for words, button in said:
        await site.web.say(BEN, GENERAL, words, replied.id)
        ben = visit("ben")
        await ben.open(f"/app/?room=general&thread={replied.id}")
        await sees(ben, button)
        agree(ben, button)
        await until(lambda: site.web.board.messages(GENERAL, BEN, replied.id), lambda all: not any(map(_asks, all)))
    await until(cards, lambda left: not left)
    taught, _ = await site.app.answers.listed(site.app.readers, limit=9)
    assert {one.answer for one in taught} == {"At pier nine.", "No, at dusk."}


def _asks(message: RoomMessage) -> bool:
    return message.kind == "confirm" and not message.data["done"]


async def test_earlier_messages_come_on_demand(visit: Visit, site: Site) -> None:
    for number in range(55):
        await site.web.say(BEN, GENERAL, f"number {number:02}")
    user = visit()
    await user.open("/app/")
    await sees(user, "number 54")
    await user.should_not_see("number 04")
    user.find("Earlier messages").click()
    await sees(user, "number 00")


async def test_a_new_room_offers_questions_to_click(visit: Visit, site: Site) -> None:
    user = visit("aki", "ja")
    await user.open("/app/")
    await sees(user, "出張の日当はいくらですか？")
    user.find("出張の日当はいくらですか？").click()
    asked = await until(lambda: kept(site), lambda found: bool(found))
    assert asked[0].text == "@kotae 出張の日当はいくらですか？" and asked[0].author == "aki"
    await answer(site, asked[0].id)
    other = visit("aki", "ja")
    await other.open("/app/?room=leads")
    await sees(other, "出張の日当はいくらですか？")  # asked in public, and answered
    assert len(other.find(marker="sample").elements) == 1


@pytest.mark.parametrize(
    ("language", "said"), [("en", "Nobody has written here yet"), ("ja", "まだメッセージはありません")]
)
async def test_a_new_room_promises_no_examples_where_it_has_none(
    visit: Visit, site: Site, language: str, said: str
) -> None:
    for info in await site.app.knowledge.collections(site.app.readers):
        await site.app.knowledge.stored.drop_collection(info.name, site.app.readers, "en")
    user = visit("aki", language)
    await user.open("/app/")
    await sees(user, said)
    await user.should_not_see("or try one of these")
    await user.should_not_see("次の例")
    await user.should_not_see(marker="sample")
