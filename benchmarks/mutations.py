"""Takes one safeguard at a time out of a copy of the tree and runs the tests that should notice:
`python -m benchmarks.mutations [--only WORD] [--no-baseline]`.

Prints a table (safeguard, what noticed, seconds). Status 1 when one is missed by nobody; 2 when a text is not where it was,
or the tests fail before anything is taken out. Source: reliability.md §5, point 6.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import discord_mutations, web_mutations

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", ".hypothesis", ".kotae", "*.egg-info")
FAILED, PASSED = 1, 0

EDGE = "retrieval/index/edge.py"
AUDIENCES = "tests/hostile/test_disclosure.py::test_llm02_the_audience_decides_what_is_read"
FORGOTTEN = "tests/hostile/test_disclosure.py::test_llm02_what_is_forgotten_or_narrowed_during_a_turn_is_not_quoted"
OBEDIENT = "tests/hostile/test_injection.py::test_an_obedient_model_is_contained"
SLOW_FILE = "tests/hostile/test_uploads.py::test_llm06_a_slow_file_costs_what_it_may_and_no_more"
WORDS = "tests/hostile/test_words.py"
KILLED = "tests/crash/test_kills.py"
SLACK = "tests/adapters/slack"
SLACK_KILLED = "tests/crash/test_slack_kills.py"
SLACK_AUDIENCE = f"{SLACK}/test_audience.py::test_who_reads_a_place"


@dataclass(frozen=True, slots=True)
class Mutation:
    """`change` is the exact text that is there once in `file`, and what stands in its place."""

    safeguard: str
    file: str
    change: tuple[str, str]
    tests: tuple[str, ...]


class Misplaced(Exception):
    """A text that is not there, or more than once: this list has to follow the code."""


MUTATIONS = (
    # who may read what
    Mutation(
        "access filter",
        EDGE,
        ('        edge.FieldCondition("scope", match=edge.MatchAny(sorted(view.readers.scopes))),\n', ""),
        ("tests/retrieval/test_index.py::test_a_view_shows_exactly_what_it_may",),
    ),
    Mutation(
        "access filter of a server",
        "retrieval/index/requests.py",
        ('        models.FieldCondition(key="scope", match=models.MatchAny(any=sorted(view.readers.scopes))),\n', ""),
        ("tests/retrieval/test_index.py::test_a_view_of_a_server_shows_exactly_what_it_may",),
    ),
    Mutation(
        "view in fetch",
        EDGE,
        ("for id, payload in found.items() if shows(view, payload)}", "for id, payload in found.items()}"),
        ("tests/retrieval/test_index.py::test_a_view_shows_exactly_what_it_may",),
    ),
    Mutation(
        "scope in a view's own look",
        "retrieval/payload.py",
        ('        payload["scope"] in view.readers.scopes\n        and payload', "        payload"),
        ("tests/retrieval/test_index.py::test_a_view_shows_exactly_what_it_may",),
    ),
    Mutation(
        "generation filter: not yet born",
        EDGE,
        ('        _number("born", lte=view.generation),\n', ""),
        ("tests/retrieval/test_index.py::test_staged_points_are_seen_once_published", KILLED),
    ),
    Mutation(
        "generation filter: dead",
        EDGE,
        ('        _number("died", gt=view.generation),\n', ""),
        ("tests/retrieval/test_index.py::test_a_point_is_seen_from_its_birth_until_its_death",),
    ),
    Mutation(
        "audience: the team is no outsider",
        "bot/access.py",
        ("            return Readers(here | {EVERYONE})\n", "            return Readers(here | {EVERYONE, TEAM})\n"),
        (AUDIENCES,),
    ),
    Mutation(
        "audience: a public channel is no private one",
        "bot/access.py",
        (
            "            return Readers(here | {EVERYONE, TEAM})\n",
            "            return Readers(here | {EVERYONE, TEAM, scope_of(place)})\n",
        ),
        (AUDIENCES,),
    ),
    Mutation(
        "scope of what is said in private",
        "bot/access.py",
        ('return TEAM if audience.visibility == "public" else scope_of(place)', "return TEAM"),
        ("tests/hostile/test_disclosure.py::test_llm02_a_private_question_is_elsewhere_only_a_count",),
    ),
    Mutation(
        "still readable before answering",
        "agent/turn.py",
        ("if hit.passage.document_id in there}", "if True or hit.passage.document_id in there}"),
        (FORGOTTEN,),
    ),
    # what a model may do
    Mutation(
        "tools that exist",
        "agent/tools.py",
        (
            "    if tool is None:\n        raise BadCallError(_UNKNOWN_TOOL",
            "    if tool is None:\n        tool = tools[-1]\n        return tool, {}\n        raise BadCallError(_UNKNOWN_TOOL",
        ),
        (f"{OBEDIENT}[LLM03-ja-tool-1]",),
    ),
    Mutation(
        "arguments that exist",
        "agent/tools.py",
        ("    for key in given:\n        if key not in properties:", "    for key in ():\n        if key not in properties:"),
        (f"{OBEDIENT}[LLM09-ja-scope-1]",),
    ),
    Mutation(
        "turns that end",
        "agent/loop.py",
        ("for _ in range(self._max_turns):", "for _ in range(40):"),
        # in the whole application the cap on a turn's calls would end it too
        ("tests/agent/test_loop_calls.py::test_after_max_turns_the_answer_is_written_without_tools",),
    ),
    Mutation(
        "instructions that stay hidden",
        "agent/conversation.py",
        ("    return len(said) >= _ECHO and any(", "    return False and any("),
        (f"{OBEDIENT}[LLM08-ja-prompt-1]",),
    ),
    Mutation(
        "hidden characters",
        "retrieval/formats/cleaning.py",
        ('    text = _UNSEEN.sub("", text)\n', ""),
        ("tests/hostile/test_injection.py::test_llm01_what_nobody_sees_no_model_reads",),
    ),
    # what an answer may hold
    Mutation(
        "citation check: numbers",
        "agent/grounding.py",
        ("        if any(not self._asked.hold(fact) for fact in missing):\n", "        if not sources:\n"),
        ("tests/agent/test_grounding.py",),
    ),
    Mutation(
        "citation check: only what was retrieved",
        "agent/grounding.py",
        ("own = tuple(n for n in claim.sentence.cited if n in self._evidence)", "own = tuple(claim.sentence.cited)"),
        ("tests/agent/test_grounding.py",),
    ),
    Mutation(
        "addresses in text",
        "agent/links.py",
        ("        if address in allowed or (plain", "        if address or (plain"),
        (f"{OBEDIENT}[LLM02-ja-link-1]",),
    ),
    Mutation(
        "addresses behind words",
        "agent/links.py",
        ("        if not match[1] and target in allowed and target:", "        if not match[1] and target:"),
        ("tests/agent/test_links.py",),
    ),
    Mutation(
        "addresses in code",
        "agent/links.py",
        ("fine = address in allowed or", "fine = True or"),
        ("tests/hostile/test_output.py",),
    ),
    Mutation(
        "calls to people",
        "adapters/markdown.py",
        ('    return _PING.sub("\\\\g<0>\\u200b", text)', "    return text"),
        (f"{OBEDIENT}[LLM01-ja-mention-1]",),
    ),
    Mutation(
        "addresses in steps and names",
        "adapters/markdown.py",
        ('    left = scrubbed(text, (), gap="…")', "    left = visible(text).strip()"),
        (WORDS,),
    ),
    Mutation(
        "markup of names and quotations",
        "adapters/markdown.py",
        ('_MARKUP = re.compile(r"([\\[\\]\\\\<])")', '_MARKUP = re.compile(r"(\\\\)")'),
        (WORDS, "tests/adapters/test_markdown.py"),
    ),
    # what must happen once, or not half
    Mutation(
        "a claim is unique",
        "bot/store/inbox.py",
        ('        "claim": claim_key(message),', '        "claim": turn,'),
        ("tests/bot/test_inbox.py::test_a_question_is_claimed_once",),
    ),
    Mutation(
        "a dead process's questions are taken over",
        "bot/app.py",
        ("            await inbox.inherit()\n", "            pass\n"),
        ("tests/bot/test_app.py::test_a_start_inherits_at_once_what_a_dead_process_held",),
    ),
    Mutation(
        "an answer is stored before it is shown",
        "bot/store/inbox.py",
        ("                keep_answers(db, [(each.turn", "                [].extend([(each.turn"),
        (f"{KILLED}::test_a_question_is_answered_once_wherever_the_process_died",),
    ),
    Mutation(
        "what was not committed goes at the start",
        "bot/shelves.py",
        ("        await self._index.reconcile(now)\n", ""),
        (f"{KILLED}::test_a_search_finds_the_old_or_the_new_version_wherever_the_process_died",),
    ),
    Mutation(
        "the old version dies with the new one's birth",
        EDGE,
        ('            await self._change(_living(document_id, before=at), {"died": at})\n', ""),
        (f"{KILLED}::test_a_search_finds_the_old_or_the_new_version_wherever_the_process_died",),
    ),
    # what a file may cost
    Mutation(
        "parser: memory",
        "retrieval/parsing.py",
        ("(occupied + limits.memory, ", "(occupied + (1 << 40), "),
        ("tests/retrieval/test_parsing.py::test_memory_is_bounded",),
    ),
    Mutation(
        "parser: processor time",
        "retrieval/parsing.py",
        ("+ limits.cpu", "+ 600"),
        (f"{SLOW_FILE}[processor]",),
    ),
    Mutation(
        "parser: wall time",
        "retrieval/loaders.py",
        ("asyncio.timeout(self._limits.wall)", "asyncio.timeout(600)"),
        (f"{SLOW_FILE}[wall]",),
    ),
    Mutation(
        "parser: no network, no programs",
        "retrieval/parsing.py",
        ("    sys.addaudithook(_forbid)\n", ""),
        ("tests/retrieval/test_parsing.py::test_the_parser_has_no_network_and_starts_nothing",),
    ),
    Mutation(
        "archive: sizes",
        "retrieval/formats/archives.py",
        ("    _check_sizes(members, limits)\n", ""),
        ("tests/retrieval/test_archives.py",),
    ),
    Mutation(
        "archive: entities",
        "retrieval/formats/archives.py",
        ('        raise Refused("entities")\n', "        pass\n"),
        ("tests/retrieval/test_archives.py",),
    ),
    Mutation(
        "file size",
        "retrieval/loaders.py",
        ("            if len(data) > self._limits.file:\n", "            if len(data) < 0:\n"),
        ("tests/retrieval/test_loaders.py",),
    ),
    # what is never written down
    Mutation(
        "configured secrets in logs",
        "bot/logs.py",
        ("            text = self._known.sub(_HIDDEN, text)\n", "            pass\n"),
        ("tests/bot/test_logs.py",),
    ),
    Mutation(
        "secrets in logs by their shape",
        "bot/logs.py",
        ("        text = _SECRETS.sub(_HIDDEN, text)\n", ""),
        ("tests/bot/test_logs.py",),
    ),
    Mutation(
        "which settings are secret",
        "bot/settings.py",
        ("fields = (value for _, value in self if isinstance(value, SecretStr)", "fields = (value for _, value in () if value"),
        ("tests/bot/test_settings.py",),
    ),
    # Slack: taken once, acknowledged when it is kept
    Mutation(
        "Slack: claimed before it is acknowledged",
        "adapters/slack/adapter.py",
        (
            "                await self._take(seen(body, us), office, questions)\n",
            '                office.tasks.start(self._take(seen(body, us), office, questions), "late")\n',
        ),
        (f"{SLACK}/test_chaos.py::test_nothing_is_acknowledged_before_it_is_kept",),
    ),
    Mutation(
        "Slack: what is not stored is not acknowledged",
        "adapters/slack/socket.py",
        ("        if response.status == NOT_STORED:\n            return\n", ""),
        (f"{SLACK}/test_socket.py::test_what_could_not_be_stored_is_not_acknowledged_and_comes_again",),
    ),
    Mutation(
        "Slack: whatever comes is acknowledged",
        "adapters/slack/socket.py",
        ("            response = BoltResponse(status=200)\n        try:\n", "            return\n        try:\n"),
        (f"{SLACK}/test_socket.py::test_whatever_comes_is_acknowledged_once",),
    ),
    Mutation(
        "Slack: no connection without a hello",
        "adapters/slack/socket.py",
        ("                if client.greeted:\n", "                if True:\n"),
        (f"{SLACK}/test_socket.py::test_a_connection_without_a_hello_is_none_and_is_given_up",),
    ),
    Mutation(
        "Slack: what a process left is taken up",
        "adapters/leftovers.py",
        ("            await questions()\n", ""),
        (SLACK_KILLED,),
    ),
    Mutation(
        "Slack: bots are not answered",
        "adapters/slack/events.py",
        ('    if event.get("bot_id") or event.get("bot_profile") or', "    if"),
        (f"{SLACK}/test_events.py::test_what_no_person_says_starts_nothing",),
    ),
    # Slack: said once
    Mutation(
        "Slack: the SDK does not send again by itself",
        "adapters/slack/client.py",
        ("base_url=base_url or API, retry_handlers=[], logger=_sdk)", "base_url=base_url or API, logger=_sdk)"),
        (f"{SLACK}/test_marks.py::test_a_lost_answer_makes_no_second_message", f"{SLACK}/test_client.py"),
    ),
    Mutation(
        "Slack: what may have arrived is looked for",
        "adapters/slack/marks.py",
        ("        if ts := await _found(find, mark):\n            return ts\n        if wait", "        if wait"),
        (f"{SLACK}/test_marks.py::test_a_lost_answer_makes_no_second_message",),
    ),
    Mutation(
        "Slack: what a dead process may have sent is looked for",
        "adapters/slack/marks.py",
        ("    if maybe_sent and mark and (ts := await _found(find, mark)):\n        return ts\n", ""),
        (SLACK_KILLED,),
    ),
    Mutation(
        "Slack: what is to be said is written down first",
        "adapters/slack/thread.py",
        ("        before = await self._desk.intend(post)\n", "        before = None\n"),
        (SLACK_KILLED,),
    ),
    Mutation(
        "Slack: a rate limit is waited for",
        "adapters/slack/calling.py",
        ("                    self.pacer.pause(method, channel, seconds)\n", ""),
        (f"{SLACK}/test_client.py::test_a_rate_limit_is_waited_for_exactly",),
    ),
    # Slack: who reads along, and who may do what
    Mutation(
        "Slack: guests in a channel",
        "adapters/slack/audience.py",
        ("        return any(self._is_outsider(known[member]) and", "        return any(False and"),
        (SLACK_AUDIENCE,),
    ),
    Mutation(
        "Slack: channels shared with others",
        "adapters/slack/audience.py",
        ("        if any(info.get(flag) for flag in _SHARED):\n            return OUTSIDERS\n", ""),
        (f"{SLACK}/test_adapter.py::test_outsiders_and_unknown_places_are_held_to_what_everyone_may_read[shared]",),
    ),
    Mutation(
        "Slack: people of other workspaces",
        "adapters/slack/audience.py",
        ("        if stranger:\n            return OUTSIDERS\n        try:", "        try:"),
        (f"{SLACK}/test_audience.py", f"{SLACK}/test_adapter.py::test_outsiders_and_unknown_places_are_held_to_what_everyone_may_read"),
    ),
    Mutation(
        "Slack: what cannot be looked up is not public",
        "adapters/slack/audience.py",
        ("error.code)\n            return UNKNOWN\n", "error.code)\n            return PUBLIC\n"),
        (f"{SLACK}/test_audience.py::test_what_slack_does_not_say_is_unknown_unless_it_has_no_such_thing",),
    ),
    Mutation(
        "Slack, Discord: a vote is for the answer it is pressed on",
        "adapters/voting.py",
        ('known = post is not None and post.kind == "answer" and post.about == feedback.turn', "known = True"),
        (
            f"{SLACK}/test_votes.py::test_a_vote_is_for_the_answer_it_is_pressed_on_whatever_the_button_says",
            f"{discord_mutations.DISCORD}/test_votes.py::test_a_forged_button_is_no_vote",
        ),
    ),
    # Slack: what is shown, and what is fetched
    Mutation(
        "Slack: no token of a text is one of Slack's",
        "adapters/slack/dialect.py",
        ('.replace("<", "&lt;").replace("![",', '.replace("![",'),
        (f"{SLACK}/test_dialect.py",),
    ),
    Mutation(
        "Slack: nobody is called",
        "adapters/slack/dialect.py",
        ("    shown = without_pings(text).replace(", "    shown = text.replace("),
        (f"{SLACK}/test_dialect.py",),
    ),
    Mutation(
        "Slack: names are not parsed",
        "adapters/slack/client.py",
        ('_NO_MARKUP = {"parse": "none", "link_names": False}', '_NO_MARKUP = {"parse": "full", "link_names": True}'),
        (f"{SLACK}/test_marks.py::test_a_message_is_bare_and_marked",),
    ),
    Mutation(
        "Slack: the token goes to Slack only",
        "adapters/slack/client.py",
        ("        if self.addresses.gets_token(url):\n", "        if url:\n"),
        (f"{SLACK}/test_files.py::test_another_server_gets_no_token",),
    ),
    Mutation(
        "Slack: files are fetched from Slack only",
        "adapters/slack/files.py",
        ("            if not slack.addresses.is_slack(url):\n", "            if not url:\n"),
        (f"{SLACK}/test_files.py::test_another_server_is_not_asked",),
    ),
    *(Mutation(*each) for each in (*discord_mutations.MUTATIONS, *web_mutations.MUTATIONS)),
)  # fmt: skip


@contextmanager
def copied() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="kotae-mutations-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=LEFT_OUT, symlinks=True)
        yield tree


def run(tree: Path, tests: Sequence[str]) -> tuple[int, str]:
    """The status of these tests in `tree`, and the one that failed or what pytest said last."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    failed = re.search(r"^(?:FAILED|ERROR) ([^\s].*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    last = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, failed[1] if failed else (last[-1] if last else "")


@contextmanager
def mutated(tree: Path, mutation: Mutation) -> Iterator[None]:
    file = tree / mutation.file
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    old, new = mutation.change
    if before.count(old) != 1:
        raise Misplaced(f"{mutation.safeguard}: {mutation.file} has {before.count(old)} times {old!r}")
    file.write_text(before.replace(old, new), encoding="utf-8")
    try:
        yield
    finally:
        file.write_text(before, encoding="utf-8")


def main(only: str, baseline: bool) -> int:
    chosen = [each for each in MUTATIONS if only in each.safeguard]
    with copied() as tree:
        for mutation in chosen:
            with mutated(tree, mutation):  # every one has its place, before the first test runs
                pass
        if baseline:
            tests = dict.fromkeys(test for mutation in chosen for test in mutation.tests)
            status, said = run(tree, [*tests])
            if status != PASSED:
                print(f"the tests fail with nothing taken out: {said}", file=sys.stderr)
                return 2
        survived = 0
        print(f"{'taken out':46} {'seconds':>7}  noticed by")
        for mutation in chosen:
            began = time.perf_counter()
            with mutated(tree, mutation):
                status, said = run(tree, mutation.tests)
            survived += status != FAILED
            noticed = said if status == FAILED else f"NOBODY (status {status}: {said})"
            print(f"{mutation.safeguard:46} {time.perf_counter() - began:7.1f}  {noticed}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} noticed")
    return int(survived > 0)


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--only", default="", help="those whose name has this word")
    given.add_argument("--no-baseline", action="store_true", help="do not run the tests on the whole tree first")
    options = given.parse_args()
    try:
        sys.exit(main(options.only, not options.no_baseline))
    except Misplaced as misplaced:
        print(misplaced, file=sys.stderr)
        sys.exit(2)
