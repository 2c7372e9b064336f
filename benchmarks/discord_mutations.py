"""The safeguards of the Discord adapter, for `benchmarks/mutations.py`: what each is called, its file, the text that is
there once with what stands in its place, and the tests that notice."""

DISCORD = "tests/adapters/discord"
_MISSED = "test_what_was_asked_while_no_process_heard_it_is_answered_unless_it_is_long_ago"
_PLACE = "test_steps_leave_the_answer_its_place_in_the_rate_limit"
DISCORD_RIGHTS = f"{DISCORD}/test_adapter.py::test_the_rights_of_a_channel_decide_what_may_be_read_there"

GUEST = f"{DISCORD}/test_adapter.py::test_a_guest_in_a_voice_channel_is_an_outsider_there_and_in_direct_messages"

MUTATIONS: tuple[tuple[str, str, tuple[str, str], tuple[str, ...]], ...] = (
    # Discord: taken once, and taken up
    (
        "Discord: claimed before anything is done",
        "adapters/discord/adapter.py",
        (
            "                    await self._questions.ask(message)\n",
            "                    await self._context.rest.typing(written_in(message))\n"
            "                    await self._questions.ask(message)\n",
        ),
        (f"{DISCORD}/test_adapter.py::test_what_cannot_be_stored_is_tried_again_before_anything_is_shown",),
    ),
    (
        "Discord: who does not see a place any more may do nothing there",
        "adapters/discord/audience.py",
        ("reads(who.channel, who.permissions) and any(guild.id", "any(guild.id"),
        (
            f"{DISCORD}/test_ingestion.py::"
            "test_a_form_that_is_left_open_gives_nothing_to_a_channel_that_its_reader_does_not_see_any_more",
        ),
    ),
    (
        "Discord: a question whose thread was deleted is answered",
        "adapters/discord/transport/turn_messages.py",
        (" or deleted)", ")"),
        (
            f"{DISCORD}/test_adapter.py::"
            "test_a_thread_that_is_deleted_meanwhile_leaves_the_answer_to_its_question_in_the_channel",
        ),
    ),
    (
        "Discord: a question that went with its thread is not",
        "adapters/discord/transport/turn_messages.py",
        ("deleted = error.code == UNKNOWN_CHANNEL and written_in(self._message) == self.parent", "deleted = error.code == UNKNOWN_CHANNEL"),
        (
            f"{DISCORD}/test_adapter.py::"
            "test_a_thread_that_is_deleted_meanwhile_leaves_the_answer_to_its_question_in_the_channel",
        ),
    ),
    (
        "Discord: a 403 that is not its own bars nothing",
        "adapters/discord/transport/errors.py",
        ("frozenset({0, 40333})", "frozenset({-1})"),
        (f"{DISCORD}/test_adapter.py::test_a_refusal_that_is_not_discords_own_closes_no_question",),
    ),
    (
        "Discord: whoever asked where the bot may not write is told so",
        "adapters/discord/adapter.py",
        ("                tell_barred=partial(_tell_barred, context),\n", ""),
        (f"{DISCORD}/test_adapter.py::test_where_the_bot_may_not_write_its_asker_is_told_alone",),
    ),
    (
        "Discord: which right is missing is said, though whoever would was cut off",
        "adapters/discord/transport/turn_messages.py",
        (
            "            if before is not None and before.message is not None:\n                return\n            text, mark",
            "            if before is not None:\n                return\n            text, mark",
        ),
        (
            f"{DISCORD}/test_adapter.py::"
            "test_which_right_is_missing_is_said_though_the_one_who_would_was_cut_off",
        ),
    ),
    (
        "Discord: nobody waits too long for who somebody is",
        "adapters/discord/transport/api.py",
        ("asyncio.timeout(self._patience)", "asyncio.timeout(None)"),
        (
            f"{DISCORD}/test_turn_view.py::"
            "test_nobody_waits_long_for_who_somebody_is_where_discord_does_not_say",
        ),
    ),
    (
        "Discord: a vote that cannot be acknowledged is left at that",
        "adapters/discord/feedback.py",
        ("Interactions(context, matters=False)", "Interactions(context)"),
        (
            f"{DISCORD}/test_feedback.py::"
            "test_a_vote_that_cannot_be_acknowledged_to_its_author_alone_is_shown_to_nobody",
        ),
    ),
    (
        "Discord: a question that was for the bot before its edit goes with its answer",
        "adapters/discord/adapter.py",
        ("addresses or (before is not None and before.edited_at is not None)", "addresses"),
        (f"{DISCORD}/test_adapter.py::test_a_question_that_was_for_the_bot_before_goes_with_its_answer",),
    ),
    (
        "Discord: who calls the bot by a role whose words are withheld is told",
        "adapters/discord/adapter.py",
        ("where is not None and withheld(message)", "False"),
        (
            f"{DISCORD}/test_adapter.py::"
            "test_without_the_intent_who_calls_the_bot_by_its_role_hears_that_it_was_not_read",
        ),
    ),
    (
        "Discord: a reply without a mention is only for the bot where it is to the bot",
        "adapters/discord/events.py",
        (" and to.author.id == me)", ")"),
        (f"{DISCORD}/test_adapter.py::test_a_reply_without_a_mention_goes_on_where_it_is_to_the_bot",),
    ),
    (
        "Discord: what is forwarded in a server asks nothing",
        "adapters/discord/events.py",
        ("message.message_snapshots if direct else ()", "message.message_snapshots"),
        (f"{DISCORD}/test_adapter.py::test_what_is_forwarded_in_a_direct_message_is_asked",),
    ),
    (
        "Discord: what is deleted with others is deleted",
        "adapters/discord/adapter.py",
        ('        started("raw_bulk_message_delete", self._delete_many)\n', ""),
        (f"{DISCORD}/test_adapter.py::test_a_question_that_is_taken_back_is_not_answered_and_its_steps_go",),
    ),
    (
        "Discord: what is deleted in a closed thread is deleted",
        "adapters/discord/adapter.py",
        ("get_channel(channel)) or await self._where(channel)\n", "get_channel(channel))\n"),
        ("tests/adapters/test_channel_sources.py::test_a_forum_is_read_back_page_by_page_with_its_archived_posts",),
    ),
    (
        "Discord: a thread gives up the words of a question that is taken back",
        "adapters/discord/turn_view.py",
        ("        await self._unname()\n", "        pass\n"),
        (f"{DISCORD}/test_adapter.py::test_a_question_that_is_taken_back_is_not_answered_and_its_steps_go",),
    ),
    (
        "Discord: what is not stored is tried again",
        "adapters/discord/adapter.py",
        ("        for wait in (*STORE_WAITS, None):\n", "        for wait in (None,):\n"),
        (f"{DISCORD}/test_adapter.py::test_what_cannot_be_stored_is_tried_again_before_anything_is_shown",),
    ),
    (
        "Discord: what a process left is taken up",
        "adapters/shared/recovery.py",
        ("        await questions()\n", ""),
        (f"{DISCORD}/test_recovery.py::test_a_question_that_was_claimed_and_given_back_is_answered",),
    ),
    (
        "Discord: files that were left are read",
        "adapters/shared/recovery.py",
        ("for left in await bot.ingestion.unfinished(platform):", "for left in ():"),
        (f"{DISCORD}/test_recovery.py",),
    ),
    (
        "Discord: a form's readers are for its own channel",
        "adapters/discord/ingestion.py",
        ('wish if here else replace(wish, scope="")', "wish"),
        (f"{DISCORD}/test_ingestion.py::test_what_was_chosen_for_one_channel_is_not_chosen_for_a_message_of_another",),
    ),
    (
        "Discord: askers are told",
        "adapters/shared/expert_answers.py",
        ("for notice in await self.bot.experts.notices(self.platform):", "for notice in ():"),
        (f"{DISCORD}/test_recovery.py",),
    ),
    (
        "Discord: what was asked while nobody heard it",
        "adapters/discord/adapter.py",
        ("        async for message in missed(self._context, shard):\n", "        for message in ():\n"),
        (f"{DISCORD}/test_recovery.py::{_MISSED}",),
    ),
    (
        "Discord: whoever is not connected looks the servers up",
        "adapters/discord/adapter.py",
        ("            await servers.look()\n", "            pass\n"),
        (f"{DISCORD}/test_shared.py::test_a_process_that_is_not_connected_posts_all_the_same",),
    ),
    (
        "Discord: shards begin five seconds apart",
        "adapters/discord/transport/gateway.py",
        ("told.wait()\n                await asyncio.sleep(IDENTIFY_SECONDS)\n", "told.wait()\n"),
        (f"{DISCORD}/test_shards.py::test_every_shard_is_heard_and_answered_on",),
    ),
    (
        "Discord: shards begin again one by one",
        "adapters/discord/transport/gateway.py",
        ("        async with self._identifying:\n", "        if True:\n"),
        (f"{DISCORD}/test_shards.py::test_all_shards_identify_again_in_their_turn",),
    ),
    (
        "Discord: a shard begins when the last one is there",
        "adapters/discord/transport/gateway.py",
        ("                await previous.told.wait()\n", "                pass\n"),
        (f"{DISCORD}/test_shards.py::test_a_shard_begins_when_the_one_before_it_is_there",),
    ),
    (
        "Discord: a shard that cannot be reached at first is tried again alone",
        "adapters/discord/transport/gateway.py",
        ("                if previous is None or self.ws is not None:\n", "                if self:\n"),
        (f"{DISCORD}/test_shards.py::test_a_shard_that_cannot_be_reached_at_first_is_waited_for_alone",),
    ),
    (
        "Discord: each session is counted",
        "adapters/discord/transport/gateway.py",
        ("            self._identifies.begin()\n", "            pass\n"),
        (f"{DISCORD}/test_shards.py::test_every_shard_is_heard_and_answered_on",),
    ),
    (
        "Discord: sessions that Discord leaves are enough for all shards",
        "adapters/discord/transport/gateway.py",
        (" if limits and limits.remaining < count else 0.0\n", " if limits and limits.remaining < 1 else 0.0\n"),
        (f"{DISCORD}/test_shards.py::test_where_not_enough_sessions_are_left_for_all_shards_none_is_begun",),
    ),
    (
        "Discord: sessions of an hour are enough for all shards",
        "adapters/discord/transport/gateway.py",
        ("max(self._identifies.wait(count), used_up)", "max(self._identifies.wait(), used_up)"),
        (f"{DISCORD}/test_shards.py::test_where_not_enough_sessions_are_left_for_all_shards_none_is_begun",),
    ),
    (
        "Discord: connected is who hears all shards",
        "adapters/discord/transport/gateway.py",
        ("and all(shard.up for shard in self._ours)\n", "and any(shard.up for shard in self._ours)\n"),
        (f"{DISCORD}/test_shards.py::test_a_shard_that_is_lost_resumes_while_the_others_are_heard",),
    ),
    (
        "Discord: sessions are given up at the end",
        "adapters/discord/transport/gateway.py",
        ("                await self.ws.close(code=1000)\n", "                pass\n"),
        (f"{DISCORD}/test_shards.py::test_every_shard_is_heard_and_answered_on",),
    ),
    (
        "Discord: a bot that has grown is begun anew",
        "adapters/discord/transport/gateway.py",
        ('            return ConnectionError("it wants more shards: 4011")\n', '            return SettingsError(_TOKEN)\n'),
        (f"{DISCORD}/test_shards.py::test_a_bot_that_has_grown_is_connected_anew_with_the_shards_it_needs",),
    ),
    (
        "Discord: a shard catches up with its own servers",
        "adapters/discord/catch_up.py",
        ("        if guild.shard_id != shard:\n", "        if False:\n"),
        (f"{DISCORD}/test_shards.py::test_what_a_shard_did_not_hear_before_its_new_session_is_answered",),
    ),
    (
        "Discord: direct messages are of the first shard",
        "adapters/discord/catch_up.py",
        ("([] if shard else await _direct(context))", "await _direct(context)"),
        (f"{DISCORD}/test_shards.py::test_what_a_shard_did_not_hear_before_its_new_session_is_answered",),
    ),
    (
        "Discord: direct messages wait for all shards",
        "adapters/discord/audience.py",
        ("        await self._whole.wait()\n", ""),
        (f"{DISCORD}/test_shards.py::test_a_direct_message_waits_until_all_servers_are_known",),
    ),
    (
        "Discord: one server of several shards is no team",
        "adapters/discord/audience.py",
        ("len(here) == 1 and self._client.shard_count in (None, 1)", "len(here) == 1"),
        (f"{DISCORD}/test_shards.py::test_the_one_server_that_is_known_of_several_is_not_the_team",),
    ),
    (
        "Discord: servers of some shards are not mixed with what REST tells",
        "adapters/discord/transport/servers.py",
        ("self._client.first.is_set() or not self._client.whole.is_set()", "self._client.first.is_set()"),
        (f"{DISCORD}/test_shards.py::test_the_one_server_that_is_known_of_several_is_not_the_team",),
    ),
    (
        "Discord: servers that were left unheard are forgotten",
        "adapters/discord/transport/servers.py",
        ("                self._client._connection._remove_guild(guild)\n", "                pass\n"),
        (f"{DISCORD}/test_shards.py::test_a_server_that_was_left_unheard_does_not_count_any_more",),
    ),
    (
        "Discord: the doctor looks for servers that are not listed",
        "adapters/discord/setup/check.py",
        ("(*bot.guilds, *await _unlisted(token, api_url, bot, chosen))", "bot.guilds"),
        (f"{DISCORD}/setup/test_check.py::test_a_chosen_server_of_more_than_discord_lists_at_once",),
    ),
    (
        "Discord: of servers that are not chosen only the one that is asked for is looked up",
        "adapters/discord/transport/servers.py",
        (" for id in here if self._chosen is None or str(id) in self._chosen]", " for id in here]"),
        (f"{DISCORD}/test_shared.py::test_of_many_servers_those_that_are_needed_are_looked_up",),
    ),
    (
        "Discord: a server that a shard has yet to tell of is not looked up",
        "adapters/discord/transport/servers.py",
        ('            raise UnreachableError("servers", "unavailable")\n', "            pass\n"),
        (f"{DISCORD}/test_shards.py::test_the_one_server_that_is_known_of_several_is_not_the_team",),
    ),
    (
        "Discord: servers that are gone are forgotten",
        "adapters/discord/transport/servers.py",
        ("                    state._remove_guild(guild)\n", "                    pass\n"),
        (f"{DISCORD}/test_shared.py::test_what_is_looked_up_without_the_gateway_is_looked_up_again",),
    ),
    (
        "Discord: a lost connection is one line a try",
        "adapters/discord/transport/gateway.py",
        ("    theirs.addFilter(attempts)\n", ""),
        (f"{DISCORD}/transport/test_gateway.py",),
    ),
    (
        "Discord: how a connection was lost is told once",
        "adapters/discord/transport/gateway.py",
        ("            self._told = True\n", ""),
        (f"{DISCORD}/transport/test_gateway.py",),
    ),
    (
        "Discord: commands are told when they differ",
        "adapters/discord/transport/registration.py",
        ("    if differ(wanted,", "    if True or differ(wanted,"),
        (f"{DISCORD}/transport/test_registration.py",),
    ),
    (
        "Discord: commands are compared in Japanese",
        "adapters/discord/transport/registration.py",
        ('params={"with_localizations": "true"}', "params={}"),
        (f"{DISCORD}/transport/test_registration.py",),
    ),
    (
        "Discord: commands of an older version go",
        "adapters/discord/transport/registration.py",
        ("    if len(registered) != len(wanted) or theirs.keys() !=", "    if theirs.keys() <"),
        (f"{DISCORD}/transport/test_registration.py",),
    ),
    (
        "Discord: what nobody heard is asked for again where Discord gives none",
        "adapters/discord/catch_up.py",
        ("        if not left or wait is None:\n", "        if True:\n"),
        (
            f"{DISCORD}/test_recovery.py::"
            "test_what_was_said_meanwhile_is_read_later_where_discord_gives_none_at_first",
        ),
    ),
    (
        "Discord: commands that did not reach it are told again",
        "adapters/discord/adapter.py",
        ("                if wait is None or not isinstance(translated(", "                if True or not isinstance(translated("),
        (
            f"{DISCORD}/transport/test_registration.py::"
            "test_commands_that_did_not_reach_discord_are_told_again",
        ),
    ),
    (
        "Discord: what nobody heard beside a stage",
        "adapters/discord/catch_up.py",
        ("*guild.stage_channels, ", ""),
        (f"{DISCORD}/test_recovery.py::{_MISSED}",),
    ),
    (
        "Discord: direct messages that nobody heard",
        "adapters/discord/catch_up.py",
        ("*others, *([] if shard else await _direct(context)), *threads]", "*others, *threads]"),
        (f"{DISCORD}/test_recovery.py",),
    ),
    (
        "Discord: not all direct conversations are looked into",
        "adapters/discord/catch_up.py",
        ("limit=DIRECT_ONES)", "limit=CHANNELS)"),
        (f"{DISCORD}/test_recovery.py",),
    ),
    (
        "Discord: channels that are not ours are not asked",
        "adapters/discord/catch_up.py",
        (" and _readable(channel):", ":"),
        (f"{DISCORD}/test_recovery.py::{_MISSED}",),
    ),
    (
        "Discord: a mention under a card answers it",
        "adapters/discord/adapter.py",
        ('            if not post.data["closed"] and await self._answers(reply, post):\n', "            if not asked.named:\n"),
        (f"{DISCORD}/test_recovery.py::test_a_reply_to_a_card_that_mentions_the_bot_is_its_answer",),
    ),
    (
        "Discord: a thread that was started on a card",
        "adapters/discord/adapter.py",
        ("        if post is None and thread not in (None, to):\n", "        if False:\n"),
        (f"{DISCORD}/test_recovery.py::test_a_reply_to_a_card_that_mentions_the_bot_is_its_answer",),
    ),
    (
        "Discord: bots are not answered",
        "adapters/discord/events.py",
        ("    automatic = message.author.bot or message.author.system or", "    automatic ="),
        (f"{DISCORD}/test_adapter.py::test_what_is_not_for_the_bot_is_left_alone",),
    ),
    # Discord: said once
    (
        "Discord: a nonce",
        "adapters/discord/transport/api.py",
        ('{"nonce": mark.nonce, "enforce_nonce": True, "tts": False}', '{"tts": False}'),
        (f"{DISCORD}/test_turn_view.py::test_what_nobody_knows_to_have_arrived_is_there_once",),
    ),
    (
        "Discord: a nonce that is enforced",
        "adapters/discord/transport/api.py",
        ('{"nonce": mark.nonce, "enforce_nonce": True, "tts": False}', '{"nonce": mark.nonce, "tts": False}'),
        (f"{DISCORD}/test_turn_view.py::test_what_nobody_knows_to_have_arrived_is_there_once",),
    ),
    (
        "Discord: steps leave the answer its place",
        "adapters/discord/rendering/steps.py",
        ("self._saying.room() - self._reserved", "self._saying.room()"),
        (f"{DISCORD}/test_turn_view.py::{_PLACE}",),
    ),
    (
        "Discord: the answer does not wait for edits of steps",
        "adapters/discord/rendering/steps.py",
        ("        self._look()\n        self.end()\n        await", "        self.end()\n        await"),
        (f"{DISCORD}/test_turn_view.py::test_an_edit_that_hangs_does_not_keep_the_answer_back",),
    ),
    (
        "Discord: steps that come late go again",
        "adapters/discord/rendering/steps.py",
        ("        if is_new and self._shut:", "        if False:"),
        (f"{DISCORD}/test_turn_view.py::test_steps_that_come_after_the_answer_do_not_stay_below_it",),
    ),
    (
        "Discord: no steps below an answer that is there",
        "adapters/discord/rendering/steps.py",
        ("has_answer(found)", "False"),
        (f"{DISCORD}/test_turn_view.py",),
    ),
    (
        "Discord: steps that wait are looked at again",
        "adapters/discord/rendering/steps.py",
        ("call_later(AGAIN_SECONDS, self._writer.wake)", "call_later(AGAIN_SECONDS, int)"),
        (f"{DISCORD}/test_turn_view.py::test_steps_get_messages_of_their_own_again_once_there_is_room",),
    ),
    (
        "Discord: what a dead process may have sent",
        "adapters/discord/transport/api.py",
        ("        if maybe_sent and (found := await find()):\n            return found\n", ""),
        (f"{DISCORD}/test_turn_view.py::test_a_crash_between_the_post_and_its_row_says_nothing_twice",),
    ),
    (
        "Discord: what is to be said is written down first",
        "adapters/discord/transport/turn_messages.py",
        (
            "            before = await self._bot.outbox.reserve(post)\n            if before is not None and before.message:",
            "            before = None\n            if before is not None and before.message:",
        ),
        (f"{DISCORD}/test_turn_view.py::test_a_crash_between_the_post_and_its_row_says_nothing_twice",),
    ),
    (
        "Discord: what is taken away goes from a thread that was archived, too",
        "adapters/discord/transport/api.py",
        ('await self._open("delete", channel', 'await self._again("delete", channel'),
        (f"{DISCORD}/test_turn_view.py::test_a_thread_that_was_archived_is_opened_for_what_is_taken_away",),
    ),
    (
        "Discord: where nothing can be replied to it is said without",
        "adapters/discord/transport/errors.py",
        ("        case discord.HTTPException(code=code) if code in NO_REFERENCE:\n            return RefusedError(what, str(code))\n", ""),
        (f"{DISCORD}/test_adapter.py::test_without_the_right_to_read_what_was_said_an_answer_is_no_reply",),
    ),
    # Discord: who reads along, and who may do what
    (
        "Discord: servers that are not the team's",
        "adapters/discord/audience.py",
        ("        if channel.guild not in self.team():\n            return OUTSIDERS\n", ""),
        (f"{DISCORD_RIGHTS}[other server]",),
    ),
    (
        "Discord: several servers and none is named",
        "adapters/discord/audience.py",
        (" if len(here) == 1 and self._client.shard_count in (None, 1) else None\n", "\n"),
        (f"{DISCORD_RIGHTS}[two servers]",),
    ),
    (
        "Discord: a stranger's server is not the team when the bot is put out of the team's",
        "adapters/discord/audience.py",
        (" and self._first in (None, _named(only))", ""),
        (f"{DISCORD}/test_adapter.py::test_a_bot_put_out_of_the_teams_server_does_not_take_a_strangers_for_it",),
    ),
    (
        "Discord: a private channel is not public",
        "adapters/discord/audience.py",
        (
            "        return PUBLIC if reads(channel, channel.permissions_for(everyone)) else PRIVATE\n",
            "        return PUBLIC\n",
        ),
        (f"{DISCORD_RIGHTS}[role]",),
    ),
    (
        "Discord: what is written beside a voice channel is for those who may join it",
        "adapters/discord/events.py",
        (" and (rights.connect or not isinstance(channel, VOCAL))", ""),
        (
            f"{DISCORD_RIGHTS}[locked voice]",
            f"{DISCORD}/test_ingestion.py::test_a_link_adds_a_message_with_its_thread_for_those_who_read_it",
        ),
    ),
    (
        "Discord: where guests read along the team's documents stay away",
        "adapters/discord/audience.py",
        (
            "        if isinstance(channel, VOCAL) and any(member.flags.guest for member in channel.members):\n"
            "            return OUTSIDERS\n",
            "",
        ),
        (f"{GUEST}[before]", f"{GUEST}[meanwhile]"),
    ),
    (
        "Discord: a guest who writes directly is no member",
        "adapters/discord/audience.py",
        (" and not member.flags.guest]", "]"),
        (f"{GUEST}[before]",),
    ),
    (
        "Discord: a private thread is not public",
        "adapters/discord/audience.py",
        ("            if channel.is_private():\n                return PRIVATE\n", ""),
        (f"{DISCORD_RIGHTS}[private thread]",),
    ),
    (
        "Discord: strangers who write directly",
        "adapters/discord/audience.py",
        ("return PRIVATE if await self._memberships(person) else OUTSIDERS", "return PRIVATE"),
        (f"{DISCORD_RIGHTS}[stranger]",),
    ),
    (
        "Discord: what cannot be looked up is not public",
        "adapters/discord/audience.py",
        (
            'log.warning("who reads a channel could not be looked up: %s", type(error).__name__)\n            return UNKNOWN\n',
            'log.warning("who reads a channel could not be looked up: %s", type(error).__name__)\n            return PUBLIC\n',
        ),
        (f"{DISCORD}/test_adapter.py::test_whoever_left_the_server_is_a_stranger_and_what_is_unknown_is_kept_closed",),
    ),
    (
        "Discord: outsiders add nothing",
        "adapters/discord/audience.py",
        ('_role(who.user, who.permissions) if ours else "outsider"', "_role(who.user, who.permissions)"),
        (f"{DISCORD}/test_ingestion.py::test_where_nobody_adds_it_is_said_in_words",),
    ),
    # Discord: gestures
    (
        "Discord: what takes long is deferred",
        "adapters/discord/interactions.py",
        ("            if not made.done():\n                await _defer(gesture)\n", ""),
        (f"{DISCORD}/test_commands.py::test_what_takes_long_is_deferred_and_told_by_its_token",),
    ),
    (
        "Discord: past its token a gesture is answered",
        "adapters/discord/interactions.py",
        ("            await _say(context, gesture, number, text)\n", "            pass\n"),
        (f"{DISCORD}/test_commands.py::test_past_its_token_a_direct_message_tells_it",),
    ),
    (
        "Discord: what came of a gesture is shown to nobody else",
        "adapters/discord/interactions.py",
        (
            'await say_alone(context, f"gesture:{gesture.id}", str(gesture.user.id), text, part=number)',
            'await context.rest.call("post", "", lambda: gesture.channel.send(text))',
        ),
        (f"{DISCORD}/test_ingestion.py::test_a_text_that_comes_back_is_shown_to_nobody_else",),
    ),
    (
        "Discord: a gesture is done once",
        "adapters/discord/interactions.py",
        (
            "        if self.first(gesture):\n            self._context.tasks.start(self._answer",
            "        if True:\n            self._context.tasks.start(self._answer",
        ),
        (f"{DISCORD}/test_ingestion.py::test_files_get_their_verdicts_in_words",),
    ),
    # Discord: what is shown, asked and fetched
    (
        "Discord: nobody is called by a message",
        "adapters/discord/transport/api.py",
        ('        "allowed_mentions": {"parse": [], "replied_user": False},\n', ""),
        (f"{DISCORD}/test_turn_view.py::test_edits_of_a_message_wait_for_their_second_and_the_last_one_comes",),
    ),
    (
        "Discord: nobody is called by an answer to a gesture",
        "adapters/discord/interactions.py",
        ("NOBODY = discord.AllowedMentions.none()", "NOBODY = discord.AllowedMentions.all()"),
        (f"{DISCORD}/test_commands.py",),
    ),
    (
        "Discord: no previews",
        "adapters/discord/transport/api.py",
        ('        "flags": SUPPRESS_EMBEDS,\n', ""),
        (f"{DISCORD}/test_turn_view.py::test_edits_of_a_message_wait_for_their_second_and_the_last_one_comes",),
    ),
    (
        "Discord: no token of a text is one of Discord's",
        "adapters/discord/rendering/markdown.py",
        ('    return _CALL.sub("<\\u200b", without_pings(text))\n', "    return text\n"),
        (f"{DISCORD}/rendering/test_markdown.py",),
    ),
    (
        "Discord: a thread does not keep the words that its question had before",
        "adapters/discord/turn_view.py",
        ("claimed.retaken and not claimed.answered", "False"),
        (f"{DISCORD}/test_adapter.py::test_a_thread_does_not_keep_the_words_that_its_question_had_before",),
    ),
    (
        "Discord: plain text is escaped",
        "adapters/discord/rendering/markdown.py",
        ('    return neutral(_FIRST.sub(r"\\1\\\\\\2", _SIGNS.sub(_escape, text)))\n', "    return neutral(text)\n"),
        (f"{DISCORD}/rendering/test_markdown.py",),
    ),
    (
        "Discord: its limit is kept",
        "adapters/discord/transport/api.py",
        ("        await self._pace.take(PRIORITIES.get(what, Priority.ORDINARY))\n", ""),
        (f"{DISCORD}/test_turn_view.py::test_a_burst_keeps_to_what_discord_takes_of_one_bot",),
    ),
    (
        "Discord: silence after a 401",
        "adapters/discord/transport/api.py",
        ("            self.refused.set()\n", "            pass\n"),
        (f"{DISCORD}/test_turn_view.py::test_after_the_first_401_nothing_is_asked_any_more",),
    ),
    (
        "Discord: files are fetched from Discord only",
        "adapters/discord/files.py",
        ("        if own or address.origin()", "        if address or own or address.origin()"),
        (f"{DISCORD}/test_ingestion.py::test_a_file_that_does_not_come_is_refused_in_words",),
    ),
    (
        "Discord: a file leads nowhere else",
        "adapters/discord/files.py",
        ("session.get(url, allow_redirects=False)", "session.get(url)"),
        (f"{DISCORD}/test_adapter.py::test_a_file_that_came_with_the_question_is_fetched_without_the_token",),
    ),
)  # fmt: skip
