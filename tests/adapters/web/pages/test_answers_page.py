"""What members answered, on its page: corrected and taken back by whoever wrote it, not shown to whom it is not for."""

from nicegui import ui

from adapters.web.channel.rooms import MEMBERS, ROOMS, actor, audience, place
from adapters.web.visitor import Site
from bot.types import AnswerGiven
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.test_unanswered_page import OPEN, SECRET, asked
from tests.adapters.web.pages.waiting import sees

AKI, BEN = MEMBERS
GENERAL, LEADS = ROOMS


async def answered(site: Site, text: str, answer: str, room: int = 0, member: int = 0) -> int:
    """A question that this member has answered; its thread."""
    root = await asked(site, text, room)
    where, seen = place(ROOMS[room]), audience(ROOMS[room])
    missed = (await site.app.bot.experts.open(where, seen)).questions
    ids = tuple(one.id for one in missed if one.question == text)
    lesson = AnswerGiven(actor(MEMBERS[member]), where, seen, ids, answer)
    assert ids and (await site.app.bot.experts.answer(lesson)).closed == ids
    return root


async def told(site: Site, root: int, words: str) -> None:
    async def there() -> bool:
        thread = await site.web.board.messages(GENERAL, AKI, root)
        return any(one.kind == "notice" and words in one.text for one in thread)

    await until(there)


async def test_an_answer_is_corrected_and_its_asker_told(visit: Visit, site: Site) -> None:
    root = await answered(site, OPEN, "250 krónur.", member=1)
    await told(site, root, "has an answer now, from Ben:\n\n250 krónur.")
    user = visit("ben")
    await user.open("/app/answers")
    await user.should_see(OPEN)
    await user.should_see("250 krónur.")
    await user.should_see("written by ben on")
    user.find("Edit").click()
    await sees(user, "will be told the new one")
    (field,) = user.find(kind=ui.textarea, content="Answer").elements
    with user:
        field.set_value("300 krónur.")
    user.find("Save").click()
    await sees(user, "edited by ben on")
    await user.should_see("300 krónur.")
    await user.should_not_see("250 krónur.")
    await told(site, root, "has been corrected by Ben:\n\n300 krónur.")


async def test_an_answer_is_taken_back_and_asked_again(visit: Visit, site: Site) -> None:
    await answered(site, OPEN, "250 krónur.")
    user = visit("aki", language="ja")
    await user.open("/app/answers")
    await user.should_see("250 krónur.")
    user.find("取り消す").click()
    await sees(user, "質問は未回答に戻ります")
    user.find(marker="yes").click()
    await sees(user, "メンバーの回答はまだありません")
    await user.open("/app/unanswered")
    await user.should_see(OPEN)


async def test_an_answer_belongs_to_its_author_and_its_readers(visit: Visit, site: Site) -> None:
    await answered(site, SECRET, "Nobody.", room=1)
    await answered(site, OPEN, "250 krónur.")
    ben = visit("ben")
    await ben.open("/app/answers")
    await ben.should_see("250 krónur.")
    await ben.should_not_see("Nobody.")
    await ben.should_not_see("Take back")
    aki = visit("aki")
    await aki.open("/app/answers")
    await aki.should_see("Nobody.")
    await aki.should_see("Take back")


async def test_what_an_answer_closes_is_ticked_and_can_be_unticked(visit: Visit, site: Site) -> None:
    same = OPEN.replace("What did", "what did").replace("?", "") + " please"
    for text in (OPEN, OPEN, same):
        await asked(site, text)
    user = visit("aki")
    await user.open("/app/unanswered")
    user.find("Answer this").click()
    await sees(user, "Also closes")
    (box,) = user.find(kind=ui.checkbox, content=same).elements
    assert box.value
    with user:
        box.set_value(False)
    (field,) = user.find(kind=ui.textarea, content="Answer").elements
    with user:
        field.set_value("The zoo charged 250 krónur in 1987.")
    user.find("Save the answer").click()
    await sees(user, "Questions that stay open: 1")
    (still,) = (await site.app.bot.experts.open(place(GENERAL), audience(GENERAL))).questions
    assert still.question == same
