"""All pairs on their page: corrected and taken back by whoever wrote them, not shown to whom they are not for."""

import csv
import gc
import io
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest
from nicegui import ui

from adapters.web.channel.rooms import MEMBERS, ROOMS, actor, audience, place, readers_of
from adapters.web.visitor import Site
from bot.access import scopes
from bot.knowledge.curation import Curator, NotAllowedError
from bot.qa_pairs.pairs import PairsError, Reviewer
from bot.types import AnswerGiven, Upload
from retrieval.types import RAGToolError
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


async def test_the_day_of_an_answer_is_that_of_who_looks(visit: Visit, site: Site) -> None:
    await answered(site, OPEN, "250 krónur.", member=1)
    ((one,), _) = await site.app.answers.listed(site.app.readers, limit=1)
    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):  # never on the same day
        user = visit("ben", zone=zone)
        await user.open("/app/answers")
        await sees(user, f"written by ben on {one.row.added_at.astimezone(ZoneInfo(zone)).date()}")


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
    user.find(marker="save").click()
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
    await sees(user, "Q/A はまだありません")
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


SHEET = "question,answer,owner\nWhen is the sauna warm?,From 17:00.,Mika\n=1+1,Two.,\n"


async def add(site: Site, text: str, room: int = 0, author: str = "aki", name: str = "sauna.csv") -> str:
    where, seen = place(ROOMS[room]), audience(ROOMS[room])
    scope = scopes(actor(MEMBERS[0]), where, seen, site.app.settings)[0]
    verdict = await site.app.knowledge.add(Upload(name, text.encode(), "house", scope, author), "en")
    assert verdict.document_id is not None, verdict.reason
    return verdict.document_id


async def found(site: Site, query: str) -> str:
    result = await site.app.knowledge.search(query, readers_of(AKI), collections=["house"])
    return result.hits[0].passage.text if result.hits else ""


async def test_a_row_of_a_file_is_edited_and_removed_where_it_is_listed(visit: Visit, site: Site) -> None:
    document = await add(site, SHEET, author=AKI.id)
    user = visit("aki")
    await user.open("/app/answers?words=sauna+warm")
    await user.should_see("From 17:00.")
    user.find("Edit").click()
    await sees(user, "added again with a different text")
    (field,) = user.find(kind=ui.textarea, content="Answer").elements
    with user:
        field.set_value("From 18:00.")
    user.find(marker="save").click()
    await sees(user, "It is found by these words from now on")
    await sees(user, "From 18:00.")
    await user.should_not_see("From 17:00.")
    assert await found(site, "When is the sauna warm?") == "From 18:00."
    row = await site.app.knowledge.document(document, readers_of(AKI))
    assert row is not None and "owner: Mika" in await site.app.knowledge.markdown(row)
    user.find("Remove").click()
    await sees(user, "It is not found any more")
    user.find(marker="yes").click()
    await sees(user, "No pairs match.")
    assert "18:00" not in await found(site, "When is the sauna warm?")


async def test_a_pair_that_has_changed_meanwhile_is_not_overwritten(site: Site) -> None:
    await add(site, SHEET, author=AKI.id)
    (shown,), _ = await site.app.all_pairs.listed(readers_of(AKI), containing="sauna warm")
    await add(site, SHEET.replace("17:00", "19:00"), author=AKI.id)
    who = Reviewer(actor(AKI), place(GENERAL), audience(GENERAL))
    theirs = Curator(who.actor, who.readers, ((who.place, who.audience),), "en")
    with pytest.raises(RAGToolError, match="Look again"):
        await site.app.all_pairs.edit(who, theirs, shown, shown.pair.question, "From 18:00.")
    with pytest.raises(RAGToolError, match="Look again"):
        await site.app.all_pairs.remove(who, theirs, shown)
    with pytest.raises(PairsError):
        await site.app.all_pairs.edit(who, theirs, shown, shown.pair.question, " ")
    assert await found(site, "When is the sauna warm?") == "From 19:00."


async def test_all_kinds_are_in_one_list_for_their_readers_and_as_a_file(visit: Visit, site: Site) -> None:
    await answered(site, OPEN, "250 krónur.")
    await add(site, SHEET, author="ben")
    await add(site, "question,answer\nWho is leaving?,Ben is.\n", room=1, name="leads.csv")
    ben = visit("ben")
    await ben.open("/app/answers")
    for text in (OPEN, "250 krónur.", "From 17:00.", "rows of files"):
        await ben.should_see(text)
    await ben.should_not_see("Ben is.")
    await ben.open("/app/answers?kind=expert")
    await ben.should_see("250 krónur.")
    await ben.should_not_see("From 17:00.")
    ben.find(marker="csv").click()
    expert = (await ben.download.next()).content
    assert OPEN in expert.decode("utf-8-sig") and "17:00" not in expert.decode("utf-8-sig")
    table = (await site.app.all_pairs.table(readers_of(MEMBERS[1]))).decode("utf-8-sig")
    rows = {row["question"]: row for row in csv.DictReader(io.StringIO(table, newline=""))}
    assert rows["When is the sauna warm?"]["answer"] == "From 17:00." and "'=1+1" in rows
    assert rows[OPEN]["kind"] == "expert" and "Who is leaving?" not in rows


async def test_the_file_has_every_wording_and_the_lines_of_an_answer_as_they_stand(site: Site) -> None:
    code = "Run this:\n\n    if open:\n        ring(  2)"
    await asked(site, SECRET)
    await asked(site, OPEN)
    missed = (await site.app.bot.experts.open(place(GENERAL), audience(GENERAL))).questions
    ids = {one.question: one.id for one in missed}
    lesson = AnswerGiven(actor(AKI), place(GENERAL), audience(GENERAL), (*ids.values(),), code, reference=ids[OPEN])
    assert len((await site.app.bot.experts.answer(replace(lesson, closes=frozenset({ids[SECRET]})))).closed) == 2
    table = (await site.app.all_pairs.table(readers_of(AKI))).decode("utf-8-sig")
    rows = [(row["question"], row["answer"]) for row in csv.DictReader(io.StringIO(table, newline=""))]
    assert rows == [(OPEN, code), (SECRET, code)]


async def test_others_pairs_cannot_be_changed(visit: Visit, site: Site) -> None:
    await add(site, SHEET, author=AKI.id)
    ben = visit("ben")
    await ben.open("/app/answers?words=sauna+warm")
    await ben.should_see("From 17:00.")
    await ben.should_not_see("Edit")
    (one,), _ = await site.app.all_pairs.listed(readers_of(MEMBERS[1]), containing="sauna warm")
    who = Reviewer(actor(MEMBERS[1]), place(GENERAL), audience(GENERAL))
    theirs = Curator(who.actor, who.readers, ((who.place, who.audience),), "en")
    with pytest.raises(NotAllowedError):
        await site.app.all_pairs.edit(who, theirs, one, "When?", "Never.")
    with pytest.raises(NotAllowedError):
        await site.app.all_pairs.remove(who, theirs, one)
    assert await found(site, "When is the sauna warm?") == "From 17:00."


async def test_pairs_are_turned_over_and_narrowed(visit: Visit, site: Site) -> None:
    rows = "".join(f"Where is hut {number}?,In valley {number}.,\n" for number in range(10, 35))
    await add(site, f"question,answer,owner\n{rows}", author=AKI.id, name="huts.csv")
    user = visit("aki")
    await user.open("/app/answers")
    await sees(user, "1–20 of 25")
    user.find("→").click()
    await sees(user, "21–25 of 25")
    for _ in range(2):  # there is no third page
        user.find("→").click()
    user.find("←").click()
    await sees(user, "1–20 of 25")
    user.find(marker="words").type("hut 34")
    await sees(user, "In valley 34.")
    await user.should_not_see("In valley 10.")


async def test_when_the_last_pair_of_a_page_goes_the_one_before_is_shown(visit: Visit, site: Site) -> None:
    rows = "".join(f"Where is hut {number}?,In valley {number}.,\n" for number in range(10, 31))
    await add(site, f"question,answer,owner\n{rows}", author=AKI.id, name="huts.csv")
    user = visit("aki")
    await user.open("/app/answers")
    user.find("→").click()
    await sees(user, "21–21 of 21")
    user.find("Remove").click()
    await sees(user, "Remove this pair?")
    user.find(marker="yes").click()
    await sees(user, "In valley 10.")
    await user.should_not_see("There are no pairs")


async def test_the_file_has_what_is_listed(visit: Visit, site: Site) -> None:
    await add(site, SHEET.replace("=1+1,Two.", "Who cleans it?,Mika."))
    user = visit("aki")
    await user.open("/app/answers?words=sauna+warm")
    await sees(user, "From 17:00.")
    user.find(marker="csv").click()
    table = (await user.download.next()).content.decode("utf-8-sig")
    assert "From 17:00." in table and "Mika" not in table


async def test_a_question_stays_when_the_list_is_drawn_anew(visit: Visit, site: Site) -> None:
    await answered(site, OPEN, "250 krónur.")
    user = visit("aki")
    await user.open("/app/answers")
    await user.should_see("250 krónur.")
    user.find("Take back").click()
    await sees(user, "Take this answer back?")
    await add(site, SHEET)
    await sees(user, "From 17:00.")
    gc.collect()
    user.find(marker="yes").click()
    await user.should_not_see("250 krónur.")
