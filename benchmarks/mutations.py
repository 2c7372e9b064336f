"""Takes one safeguard at a time out of a copy of the tree and runs the tests that should notice:
`python -m benchmarks.mutations [--only WORD] [--no-baseline]`.

Prints a table (safeguard, what noticed, seconds). Status 1 when one is missed by nobody; 2 when a text is not where it
was, or the tests fail before anything is taken out. Source: reliability.md §5, point 6."""

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

from benchmarks import (
    discord_mutations,
    process_mutations,
    server_mutations,
    source_mutations,
    web_mutations,
)

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache", ".hypothesis", ".kotae", "*.egg-info")
FAILED, PASSED = 1, 0

EDGE = "retrieval/index/edge.py"
ENGINE = "bot/store/engine.py"
CANCELLED = (
    "tests/bot/store/test_engine.py::test_a_writer_cancelled_at_a_moment_ends_what_it_is_in_and_leaves_its_connection"
)
AUDIENCES = "tests/hostile/test_disclosure.py::test_llm02_the_audience_decides_what_is_read"
FORGOTTEN = "tests/hostile/test_disclosure.py::test_llm02_what_is_forgotten_or_narrowed_during_a_turn_is_not_quoted"
OBEDIENT = "tests/hostile/test_injection.py::test_an_obedient_model_is_contained"
HIDDEN_ROWS = (
    "tests/retrieval/loaders/test_tables.py::"
    "test_rows_and_columns_that_are_hidden_are_not_read_and_those_that_are_filtered_or_folded_are"
)
SLOW_FILE = "tests/hostile/test_uploads.py::test_llm06_a_slow_file_costs_what_it_may_and_no_more"
WORDS = "tests/hostile/test_words.py"
REACT_CALLS = "tests/agent/strategies/test_react_calls.py"
REACT_FAILURES = "tests/agent/strategies/test_react_failures.py"
KILLED = "tests/crash/test_kills.py"
HOME = "tests/bot/config/test_home.py"
LOCAL_FILES = "tests/retrieval/loaders/test_local_files.py"
DOUBTS = "tests/bot/unanswered/test_doubts.py"
DOUBT_SHOWN = "tests/adapters/markdown/test_events.py::test_doubt_stands_in_front_of_an_answer_once"
MISSED = "tests/bot/turns/test_turns.py::test_what_is_a_miss"
LOG_LINE = (
    "tests/bot/operations/test_retention.py"
    "::test_a_line_of_the_log_that_was_cut_off_goes_with_a_person_since_it_may_be_theirs"
)
BACKUPS = "tests/bot/operations/test_backup.py"
NOWHERE = (
    "tests/bot/knowledge/test_reindex.py"
    "::test_of_a_document_that_is_nowhere_a_store_made_anew_has_nothing_until_it_is_added_again"
)
KILLED_BACKUP = f"{BACKUPS}::test_what_killed_backups"
IDENTITY = "tests/bot/knowledge/test_identity.py"
STRANGE_DATABASE = f"{IDENTITY}::test_a_database_that_does_not_know_the_home_is_refused_and_nothing_is_lost"
TAUGHT = "tests/bot/unanswered/test_expert_answers.py"
UNLIKE = "tests/bot/unanswered/test_paraphrases.py::test_none_that_differ_is_taken_for_the_same"
ANSWERS = "tests/bot/unanswered/test_corrections.py"
WITHDRAWN = "tests/bot/store/test_withdrawal.py"
WITHDRAWN_LATE = (
    "tests/bot/turns/test_turns.py::test_what_is_withdrawn_between_the_last_check_and_the_store_is_not_quoted"
)
ASKING = "tests/bot/unanswered/test_asking.py"
CARD_REPLIES = "tests/adapters/test_card_replies.py"
CONFORMANCE = "tests/adapters/test_conformance.py"
SLACK = "tests/adapters/slack"
SLACK_KILLED = "tests/crash/test_slack_kills.py"
_MENTION_UNDER_CARD = "test_a_reply_that_mentions_the_bot_is_an_answer_as_well"
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
        ('[*narrower, edge.FieldCondition("scope", match=edge.MatchAny(sorted(self.scopes)))]', "[*narrower]"),
        ("tests/retrieval/index/test_index.py::test_a_view_shows_exactly_what_it_may",),
    ),
    Mutation(
        "access filter of a server",
        "retrieval/index/server_values.py",
        ('        models.FieldCondition(key="scope", match=models.MatchAny(any=sorted(view.readers.scopes))),\n', ""),
        ("tests/retrieval/index/test_index.py::test_a_view_of_a_server_shows_exactly_what_it_may",),
    ),
    Mutation(
        "a question's collections",
        "bot/turns/answerers.py",
        ("(queries, allowed, chosen or within)", "(queries, allowed, chosen)"),
        ("tests/bot/test_app.py::test_only_the_chosen_collections_are_searched",),
    ),
    Mutation(
        "a text that may hold a secret is looked at",
        "bot/logs.py",
        ("AKIA|ASIA\"\n", "AKIA\"\n"),
        ("tests/bot/test_logs.py::test_no_secret_gets_out_by_any_way",),
    ),
    Mutation(
        "a check of the same draft after something was forgotten",
        "agent/run.py",
        ("if self._check is None or self._check[0] != asked:", "if self._check is None or self._check[0][0] != text:"),
        (f"{REACT_CALLS}::test_a_draft_that_the_review_keeps_is_not_quoted_from_what_was_forgotten_meanwhile",),
    ),
    Mutation(
        "work beside answering goes on after a bug",
        "bot/waiting.py",
        ("        except Exception as error:\n            if failed", "        except (StoreError, RAGToolError, LostError, OSError) as error:\n            if failed"),
        ("tests/bot/test_waiting.py",),
    ),
    Mutation(
        "pages let go of: shared ones only",
        "retrieval/memory.py",
        ('if (unwritten or flags.endswith("s")) and path', "if path"),
        ("tests/retrieval/test_memory.py",),
    ),
    Mutation(
        "view in fetch",
        EDGE,
        ("for id, payload in found.items() if shows(view, payload)}", "for id, payload in found.items()}"),
        ("tests/retrieval/index/test_index.py::test_a_view_shows_exactly_what_it_may",),
    ),
    Mutation(
        "what the system refuses is no damage of the store",
        "retrieval/folder.py",
        ("if found is None or (number := int(found[1])) not in _NO_DAMAGE:", "if True:"),
        ("tests/retrieval/index/test_index.py::test_a_store_that_the_system_does_not_let_it_open_is_no_damaged_one",),
    ),
    Mutation(
        "a damaged page of the database is called so",
        ENGINE,
        ('    "SQLITE_CORRUPT": _DAMAGED,\n', ""),
        ("tests/bot/store/test_engine.py::test_a_damaged_page_is_said",),
    ),
    Mutation(
        "searches together: each its own",
        EDGE,
        ("{part: found[n, part] for part in search.asked if (n, part) in found}", "{p: found[0, p] for p in search.asked if (0, p) in found}"),
        ("tests/retrieval/index/test_index.py::test_searches_of_different_readers_at_once_get_each_their_own",),
    ),
    Mutation(
        "searches together: each with its view",
        EDGE,
        ("_nearest(part, at, sight, search.limit)\n", "_nearest(part, at, sights[0], search.limit)\n"),
        ("tests/retrieval/index/test_index.py::test_searches_of_different_readers_at_once_get_each_their_own",),
    ),
    Mutation(
        "generations are asked for while a point is not of all of them",
        EDGE,
        ("if self._shard.scroll(edge.ScrollRequest(limit=1, filter=others, with_payload=False))[0]:", "if False:"),
        ("tests/retrieval/index/test_index.py::test_each_write_changes_what_the_next_search_finds",),
    ),
    Mutation(
        "what lives is looked up again after a write",
        EDGE,
        ("self._there = self._alive_from = None\n        self._rarities", "self._there = None\n        self._rarities"),
        ("tests/retrieval/index/test_index.py::test_each_write_changes_what_the_next_search_finds",),
    ),
    Mutation(
        "which scopes there are is looked up again after a write",
        EDGE,
        ("self._there = self._alive_from = None\n        self._rarities", "self._alive_from = None\n        self._rarities"),
        ("tests/retrieval/index/test_index.py::test_each_write_changes_what_the_next_search_finds",),
    ),
    Mutation(
        "an earlier generation is looked at for itself",
        EDGE,
        ("if self._alive_from is None or generation < self._alive_from:", "if self._alive_from is None:"),
        ("tests/retrieval/index/test_index.py::test_each_write_changes_what_the_next_search_finds",),
    ),
    Mutation(
        "a term's weight is remembered for those who may read the same",
        EDGE,
        ("known = self._rarities.get((sight, term))", "known = next((w for (_, t), w in self._rarities.items() if t == term), None)"),
        ("tests/retrieval/index/test_index.py::test_a_view_shows_exactly_what_it_may",),
    ),
    Mutation(
        "a term's weight is not remembered over a write",
        EDGE,
        ("        self._rarities.clear()\n", ""),
        ("tests/retrieval/index/test_index.py::test_idf_is_that_of_the_moment",),
    ),
    Mutation(
        "scope in a view's own look",
        "retrieval/index/payload.py",
        ('        payload["scope"] in view.readers.scopes\n        and payload', "        payload"),
        ("tests/retrieval/index/test_index.py::test_a_view_shows_exactly_what_it_may",),
    ),
    Mutation(
        "generation filter: not yet born",
        EDGE,
        ('_number("born", lte=self.generation), ', ""),
        ("tests/retrieval/index/test_index.py::test_staged_points_are_seen_once_published", KILLED),
    ),
    Mutation(
        "generation filter: dead",
        EDGE,
        (', _number("died", gt=self.generation)', ""),
        ("tests/retrieval/index/test_index.py::test_a_point_is_seen_from_its_birth_until_its_death",),
    ),
    Mutation(
        "means of the passages that live",
        EDGE,
        ('filter=_filter(_number("born", lte=generation), _number("died", gt=generation)),', "filter=_filter(),"),
        ("tests/retrieval/index/test_index.py::test_a_sample_is_the_same_every_time_and_holds_what_lives",),
    ),
    Mutation(
        "meaning in each language for itself",
        EDGE,
        ('*([_is("language", language)] if language else [])', ""),
        ("tests/retrieval/index/test_index.py::test_meaning_is_asked_in_each_language_for_itself",),
    ),
    Mutation(
        "no language has a lead",
        "retrieval/centring.py",
        ("(one.score - offset) / length", "one.score"),
        ("tests/retrieval/test_centring.py::test_a_language_has_no_lead_over_the_other",),
    ),
    Mutation(
        "extractive: a code is more than its number",
        "agent/extractive/index.py",
        ("    if codes and not all(map(figures(told).hold, codes)):\n", "    if False:\n"),
        ("tests/agent/extractive/test_model.py",),
    ),
    Mutation(
        "extractive: a row of a page of another year",
        "agent/extractive/wanted.py",
        ("there = own if another else text", "there = text"),
        ("tests/agent/extractive/test_model.py",),
    ),
    Mutation(
        "files: a table beside a column of text stays where it is read",
        "retrieval/loaders/formats/pdf.py",
        ("    return bool(beside) or any(text and not gap", "    return bool(beside) or any(False and text and not gap"),
        ("tests/retrieval/loaders/formats/test_pdf.py",),
    ),
    Mutation(
        "extractive: lines of another section stand under its heading",
        "agent/extractive/index.py",
        ("groupby(excerpt.lines, key=lambda line: line[1].headings)", "[(excerpt.lines[0][1].headings, excerpt.lines)]"),
        ("tests/agent/extractive/test_model.py::test_lines_of_another_section_stand_under_its_heading",),
    ),
    Mutation(
        "Chunks: what only looks like markup hides no heading behind it",
        "retrieval/chunking.py",
        ('["inline", "reference", "html_block"]', '["inline", "reference"]'),
        ("tests/retrieval/test_chunking.py::test_what_looks_like_markup_hides_no_heading",),
    ),
    Mutation(
        "Pages: a comment that a page shows takes nothing with it",
        "retrieval/loaders/markdown.py",
        ("    text = _WORDLESS_LINK.sub(\"\", _IMAGE", "    text = _COMMENT.sub(\"\", text)\n    text = _WORDLESS_LINK.sub(\"\", _IMAGE"),
        ("tests/retrieval/loaders/implied/test_web.py::test_a_comment_that_a_page_shows_is_part_of_it",),
    ),
    Mutation(
        "Pages: what authors remarked to each other is no part of a saved document",
        "retrieval/loaders/html.py",
        ("*soup.select(_REMARKS), ", ""),
        ("tests/retrieval/loaders/implied/test_web.py::test_remarks_that_authors_made_are_no_part_of_what_word_and_google_docs_save",),
    ),
    Mutation(
        "Word: what a style hides is not read",
        "retrieval/loaders/formats/word.py",
        ('for kind in (b"r", b"p") if styles)', 'for kind in () if styles)'),
        ("tests/retrieval/loaders/implied/test_word.py::test_what_a_style_hides_is_not_read",),
    ),
    Mutation(
        "sheets: a line above others that are indented by columns is read",
        "retrieval/loaders/tables.py",
        (" and _over_something(*filled):", ":"),
        ("tests/retrieval/loaders/test_tables.py::test_lines_that_are_indented_by_columns_are_all_read",),
    ),
    Mutation(
        "files: what stands beside pairs is cut, too",
        "retrieval/chunking.py",
        ("    made += cutter.document(beside_pairs(document.markdown, document.pairs))\n", "    made += () if document.pairs else cutter.document(document.markdown)\n"),
        ("tests/retrieval/test_chunking.py::test_what_stands_beside_the_pairs_of_a_document_is_found_too",),
    ),
    Mutation(
        "files: accents without end are cut as fast as letters",
        "retrieval/chunking.py",
        ("max(end - _MARKS, 0), -1) if not _combines(text[at])), end)", "0, -1) if not _combines(text[at])), 1)"),
        ("tests/retrieval/test_chunking.py::test_accents_without_end_are_cut_as_fast_as_letters",),
    ),
    Mutation(
        "secrets: half tokens in a row are read in one go",
        "bot/logs.py",
        (r'(r"(\w://', r'(r"(\b[a-z][\w+.-]*://'),
        ("tests/hostile/test_long_texts.py",),
    ),
    Mutation(
        "questions: half mentions in a row are read in one go",
        "agent/routing/router.py",
        ("<@[^<>]*>", "<@[^>]*>"),
        ("tests/hostile/test_long_texts.py",),
    ),
    Mutation(
        "files: a pair is not forgotten together with what stands beside it",
        "bot/knowledge/pair_documents.py",
        ("    left = kept or beside_pairs(document.markdown, [one.pair for one in pairs])\n", "    left = kept\n"),
        ("tests/bot/knowledge/test_pair_documents.py::test_the_pairs_of_a_sheet_beside_others_are_read_and_the_last_one_leaves_the_others",),
    ),
    Mutation(
        "files: cells over several rows stand in each",
        "retrieval/loaders/html.py",
        ("            reaching = _spread_row(row, reaching)\n", "            pass\n"),
        ("tests/retrieval/loaders/test_markdown.py::test_cells_over_several_rows_are_written_in_each",),
    ),
    Mutation(
        "files: what a tab of a page shows is read whichever is open",
        "retrieval/loaders/implied/web.py",
        ("        _show(panel)\n", ""),
        ("tests/retrieval/loaders/implied/test_web.py::test_what_a_tab_shows_stands_under_its_name_whichever_is_open",),
    ),
    Mutation(
        "files: a panel that no tab shows stays hidden",
        "retrieval/loaders/implied/web.py",
        ("    if not tabs or len(tabs) != len(panels) or", "    for panel in panels:\n        _show(panel)\n    if not tabs or len(tabs) != len(panels) or"),
        ("tests/retrieval/loaders/implied/test_web.py::test_what_no_tab_shows_stays_hidden",),
    ),
    Mutation(
        "files: a raised figure is no digit of the number before it",
        "retrieval/loaders/implied/web.py",
        ("    mark_superscripts(soup)\n", ""),
        ("tests/retrieval/loaders/implied/test_web.py::test_a_raised_figure_is_no_digit_of_the_number_before_it",),
    ),
    Mutation(
        "hidden rows and columns are not read",
        "retrieval/loaders/formats/workbook.py",
        ("    return bool(_HIDDEN.search(looks)) and not _FOLDED.search(looks)\n", "    return False\n"),
        (HIDDEN_ROWS,),
    ),
    Mutation(
        "files: what is struck out in a sheet is not told as if it held",
        "retrieval/loaders/formats/workbook.py",
        ("    if cell.style_array.fontId in struck:\n", "    if False:\n"),
        ("tests/retrieval/loaders/test_tables.py::test_what_is_struck_out_in_a_sheet_is_marked_so",),
    ),
    Mutation(
        "files: what is struck out on a slide is not told as if it held",
        "retrieval/loaders/formats/slides.py",
        ("            parts[name] = _STRUCK_RUN.sub(", "            _STRUCK_RUN.sub("),
        ("tests/retrieval/loaders/test_loader.py::test_what_is_struck_out_on_a_slide_is_marked_so",),
    ),
    Mutation(
        "files: a bar in a cell of a table does not end it",
        "retrieval/loaders/html.py",
        ('bar.replace("|", r"\\|")', "bar"),
        ("tests/retrieval/loaders/implied/test_web.py::test_a_bar_in_a_cell_does_not_end_it",),
    ),
    Mutation(
        "files: a PDF whose font is nowhere is read whole",
        "retrieval/loaders/formats/pdf.py",
        ("    return sum(flat) * 2 > len(flat)\n", "    return False\n"),
        ("tests/retrieval/loaders/test_loader.py::test_a_pdf_whose_font_is_nowhere_is_read_whole",),
    ),
    Mutation(
        "files: a value of several columns is one of each",
        "retrieval/loaders/formats/workbook.py",
        ("(columns if over else columns[:1])", "columns[:1]"),
        (
            "tests/retrieval/loaders/test_tables.py"
            "::test_a_value_of_several_columns_is_one_of_each_but_a_label_is_not",
        ),
    ),
    Mutation(
        "files: a table below another is not told under the names of that one",
        "retrieval/loaders/tables.py",
        ("        if tables and not _begins_anew(part, tables[-1]):\n", "        if tables:\n"),
        ("tests/retrieval/loaders/test_tables.py::test_a_table_below_another_has_names_of_its_own",),
    ),
    Mutation(
        "rows that are only filtered are read",
        "retrieval/loaders/formats/workbook.py",
        (" and not any(last in some for some in filtered)", ""),
        (HIDDEN_ROWS,),
    ),
    Mutation(
        "hidden slides are not read",
        "retrieval/loaders/formats/slides.py",
        ('b"" if one[1] in hidden else one[0]', "one[0]"),
        ("tests/retrieval/loaders/test_loader.py::test_a_hidden_slide_is_not_read_nor_are_its_notes",),
    ),
    Mutation(
        "files: two columns of a page are not read across for a table above them",
        "retrieval/loaders/formats/pdf.py",
        ("with_table if _in_order(texts[number], with_table) else texts[number]", "with_table"),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_a_table_over_two_columns_of_text_does_not_mix_them",),
    ),
    Mutation(
        "files: clauses of Word have the numbers that it counts",
        "retrieval/loaders/implied/word.py",
        ("        if \"word/numbering.xml\" in parts:\n            document", "        if False:\n            document"),
        ("tests/retrieval/loaders/implied/test_word.py::test_clauses_have_the_numbers_that_word_counts",),
    ),
    Mutation(
        "files: steps of Word go on counting behind what stands between them",
        "retrieval/loaders/implied/word.py",
        ("    told |= _resumed(document, paragraphs, numbering)\n", ""),
        ("tests/retrieval/loaders/implied/test_word.py::test_steps_go_on_counting_behind_what_stands_between_them",),
    ),
    Mutation(
        "files: numbers of Word that make no sense do not cost the file",
        "retrieval/loaders/implied/word.py",
        ("suppress(ParseError, DefusedXmlException, ValueError)", "suppress(ParseError)"),
        ("tests/retrieval/loaders/implied/test_word.py::test_numbering_that_makes_no_sense_costs_no_more_than_itself",),
    ),
    Mutation(
        "files: a text box of newer Word is read",
        "retrieval/loaders/implied/word.py",
        ("    if not boxes or", "    if boxes or"),
        ("tests/retrieval/loaders/implied/test_word.py::test_the_words_of_a_text_box_are_read_once",),
    ),
    Mutation(
        "files: numbers of glyphs are not taken for the text of a PDF",
        "retrieval/loaders/formats/pdf.py",
        (" or len(_CONTROL.findall(written)) * 20 > len(written)", ""),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_numbers_of_glyphs_are_not_taken_for_text",),
    ),
    Mutation(
        "files: what only the head of a page says is read once",
        "retrieval/loaders/formats/pdf.py",
        ("    bodies[0][:0] = [*lost[0], \"\"] if lost[0] else []\n", ""),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_a_sentence_runs_over_the_page_and_heads_and_feet_go_but_for_the_first_head_and_the_last_foot",),
    ),
    Mutation(
        "files: what is filled in on a form is read",
        "retrieval/loaders/formats/pdf.py",
        ("        if _is_written_on(page):\n", "        if False:\n"),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_what_is_filled_in_on_a_form_is_read",),
    ),
    Mutation(
        "files: a table that cannot be read does not cost the PDF",
        "retrieval/loaders/formats/pdf.py",
        ("    except Exception as error:  # of pdfminer, on pages that other readers show\n        log.info(\"a page without its table:", "    except ZeroDivisionError as error:\n        log.info(\"a page without its table:"),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_a_page_whose_table_cannot_be_read_is_read_without_it",),
    ),
    Mutation(
        "files: rows of a table that are alike are no heads and feet of the pages",
        "retrieval/loaders/formats/pdf.py",
        ("_ROW = re.compile(r\"\\||- .*[:,] \")", "_ROW = re.compile(r\"(?!)\")"),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_a_ruled_table_keeps_its_names_on_the_next_page",),
    ),
    Mutation(
        "files: what is printed beside a ruled table is read",
        "retrieval/loaders/formats/pdf.py",
        ("    if any(_in_column(within, size, table.bbox) for table, _ in tables):\n", "    if False:\n"),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_what_is_printed_beside_a_ruled_table_is_not_lost",),
    ),
    Mutation(
        "files: what stands in no cell of a ruled table is read",
        "retrieval/loaders/formats/pdf.py",
        ("        and lost * 50 <= there.total()\n", ""),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_what_stands_in_no_cell_of_a_ruled_table_is_not_lost",),
    ),
    Mutation(
        "files: lines of a page that make no table do not use up the time for a PDF",
        "retrieval/loaders/formats/pdf.py",
        (" if crossings <= _MOST_CROSSINGS else []", ""),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_graph_paper_is_not_searched_for_tables",),
    ),
    Mutation(
        "files: tables do not use up the time for a PDF",
        "retrieval/loaders/formats/pdf.py",
        ("        if time.process_time() >= enough:", "        if False:"),
        ("tests/retrieval/loaders/formats/test_pdf.py::test_tables_do_not_use_up_the_time_for_a_file",),
    ),
    Mutation(
        "files: a word of Word with a reading above it is read",
        "retrieval/loaders/implied/word.py",
        ("_RUBY.sub(rb\"\\1\", part)", "part"),
        ("tests/retrieval/loaders/implied/test_word.py::test_a_reading_above_a_word_is_no_part_of_it",),
    ),
    Mutation(
        "files: words that were moved while Word tracked changes are read",
        "retrieval/loaders/implied/word.py",
        ("_WRAPPER.sub(b\"\", _RUBY.sub(rb\"\\1\", part))", "_RUBY.sub(rb\"\\1\", part)"),
        ("tests/retrieval/loaders/implied/test_word.py::test_words_in_fields_and_moved_words_are_read",),
    ),
    Mutation(
        "files: cells of a page without end tags stay beside each other",
        "retrieval/loaders/html.py",
        ("\"lxml\" if unended else \"html.parser\"", "\"html.parser\""),
        ("tests/retrieval/loaders/test_markdown.py::test_cells_and_items_without_end_tags_stand_beside_each_other",),
    ),
    Mutation(
        "files: a picture that is not in it does not cost the file",
        "retrieval/loaders/implied/word.py",
        ("_IMAGE.sub(_nowhere, part)", "part"),
        ("tests/retrieval/loaders/implied/test_word.py::test_a_picture_that_is_not_in_the_file_leaves_its_description",),
    ),
    Mutation(
        "files: a parser imports the libraries of its files alone",
        "retrieval/loaders/formats/__init__.py",
        ('("markitdown", "markitdown.converters")', "()"),
        ("tests/retrieval/loaders/test_worker.py::test_a_parser_imports_the_libraries_of_its_files_alone",),
    ),
    Mutation(
        "files: a shape of no kind does not cost the slides",
        "retrieval/loaders/formats/slides.py",
        ("    return shape if known else", "    return shape if True else"),
        ("tests/retrieval/loaders/test_loader.py::test_a_shape_of_no_kind_on_a_slide_is_read_with_the_others",),
    ),
    Mutation(
        "files: the points of a diagram are read",
        "retrieval/loaders/implied/drawings.py",
        ("        if b\"<dgm:relIds\" in part", "        if b\"<dgm:none\" in part"),
        ("tests/retrieval/loaders/implied/test_drawings.py",),
    ),
    Mutation(
        "files: the text boxes of a sheet are read",
        "retrieval/loaders/formats/workbook.py",
        (", *boxes_of(archive, part)]", "]"),
        ("tests/retrieval/loaders/implied/test_drawings.py::test_text_boxes_and_diagrams_of_a_sheet_stand_under_its_rows_from_top_to_bottom",),
    ),
    Mutation(
        "files: looks of a workbook that make no sense do not cost it",
        "retrieval/loaders/formats/workbook.py",
        ("_LOOKS.sub(b\"\", part)", "part"),
        ("tests/retrieval/loaders/test_tables.py::test_looks_and_links_of_a_workbook_that_make_no_sense_do_not_matter",),
    ),
    Mutation(
        "files: the strict form of office files is read",
        "retrieval/loaders/archives.py",
        ("    return _STRICT.sub(rb\"http://schemas.openxmlformats.org/\\1/2006/\", content)\n", "    return content\n"),
        ("tests/retrieval/loaders/test_tables.py::test_the_strict_form_of_a_workbook_is_read_like_the_usual_one",),
    ),
    Mutation(
        "files: several rows of names are the names of the columns",
        "retrieval/loaders/tables.py",
        ("    filled[:count] = [names] if count else []\n", ""),
        ("tests/retrieval/loaders/test_tables.py::test_several_rows_of_names_are_one",),
    ),
    Mutation(
        "a part of the question is not the whole",
        "agent/extractive/index.py",
        ("hit.held >= HELD and same", "same"),
        ("tests/agent/extractive/test_model.py::test_a_passage_that_holds_a_part_of_the_question_only_is_no_answer_to_it",),
    ),
    Mutation(
        "where a third of the question is missing, a strong match is needed",
        "agent/extractive/index.py",
        ("(STRONG if hit.held >= MOST else STRONG_MATCH)", "STRONG"),
        ("tests/agent/extractive/test_model.py::test_a_passage_that_holds_a_part_of_the_question_only_is_no_answer_to_it",),
    ),
    Mutation(
        "another page that may say otherwise is shown beside a sure one",
        "agent/extractive/model.py",
        ("other = rivals(question, found, told)[:1] if certainly else []", "other: list[tuple[int, Hit]] = []"),
        ("tests/agent/extractive/test_model.py::test_another_page_that_may_say_otherwise_stands_beside_a_sure_one",),
    ),
    Mutation(
        "another year or version is not the one asked for",
        "agent/extractive/index.py",
        (" and _of_that_number(question, hit.passage)", ""),
        ("tests/agent/extractive/test_model.py::test_what_is_said_of_another_year_version_or_number_is_no_answer",),
    ),
    Mutation(
        "another company or product is not the one asked for",
        "agent/extractive/index.py",
        ("return fits and of_that_name(question, hit.passage)", "return fits"),
        ("tests/agent/extractive/test_model.py::test_what_is_said_of_another_company_or_product_is_no_answer",),
    ),
    Mutation(
        "the page of the company that is asked for tells it",
        "agent/extractive/model.py",
        ("next((hit for _, hit in found if of_that_name(question, hit.passage)), found[0][1])", "found[0][1]"),
        (
            "tests/agent/extractive/test_model.py::test_the_page_of_the_company_that_is_asked_for_is_told_though_another_one_is_nearer",
        ),
    ),
    Mutation(
        "another floor or chapter is not the one asked for",
        "agent/extractive/index.py",
        (" and _ordinals(told) >= _ordinals(asked)", ""),
        ("tests/agent/extractive/test_model.py::test_what_is_counted_is_no_answer_about_one_of_its_kind",),
    ),
    Mutation(
        "what is asked of each of several is told where all of them are",
        "agent/extractive/index.py",
        (" and hit.held > 1 - 1e-9 and _holds", " and _holds"),
        ("tests/agent/extractive/test_model.py::test_what_is_asked_of_each_is_told_where_all_are",),
    ),
    Mutation(
        "a time is no answer to how much",
        "agent/extractive/wanted.py",
        ("not fact.timed and amount(fact) for fact", "amount(fact) for fact"),
        ("tests/agent/extractive/test_model.py::test_lines_without_the_figure_that_is_asked_for_are_no_answer",),
    ),
    Mutation(
        "a phone number is no answer to how much",
        "agent/extractive/wanted.py",
        ("not fact.timed and amount(fact) for fact", "not fact.timed for fact"),
        ("tests/agent/extractive/test_model.py::test_lines_without_the_figure_that_is_asked_for_are_no_answer",),
    ),
    Mutation(
        "a figure of another unit is no answer to how many",
        "agent/extractive/wanted.py",
        ("if counted else _counted", "if False else _counted"),
        ("tests/agent/extractive/test_model.py::test_lines_without_the_figure_that_is_asked_for_are_no_answer",),
    ),
    Mutation(
        "a day is no answer to the hour",
        "agent/extractive/wanted.py",
        ("_clocked if _HOUR.search(asked) else _timed", "_timed"),
        ("tests/agent/extractive/test_model.py::test_lines_without_the_figure_that_is_asked_for_are_no_answer",),
    ),
    Mutation(
        "a passage that holds as much as a sure one of its page is read, too",
        "agent/extractive/index.py",
        (" and hit.held >= one.held", " and hit is one"),
        (
            "tests/agent/extractive/test_model.py::test_a_passage_of_a_sure_page_that_holds_as_much_is_read_with_it",
        ),
    ),
    Mutation(
        "another page that holds more of the question stands beside a sure one",
        "agent/extractive/index.py",
        (" or hit.held > most", ""),
        (
            "tests/agent/extractive/test_model.py::test_another_page_that_holds_more_of_the_question_stands_beside_a_sure_one",
        ),
    ),
    Mutation(
        "the number of a section is no answer to how much",
        "agent/extractive/wanted.py",
        ("facts(without_sections(text))", "facts(text)"),
        ("tests/agent/extractive/test_model.py::test_lines_without_the_figure_that_is_asked_for_are_no_answer",),
    ),
    Mutation(
        "rules that stand in other sections do not contradict each other",
        "agent/grounding/contradictions.py",
        ("facts(without_sections(said))", "facts(said)"),
        ("tests/agent/grounding/test_contradictions.py::test_no_contradiction",),
    ),
    Mutation(
        "what answers a question of one day answers none of another",
        "agent/extractive/index.py",
        ("_NUMBER.findall(asked) if passage.question else ", ""),
        ("tests/agent/extractive/test_model.py::test_a_pair_answers_its_own_question_and_none_of_another_day",),
    ),
    Mutation(
        "each step of an answer that a person gave is told",
        "agent/segmentation.py",
        ('"\\n".join(filter(None, map(clean, markdown.splitlines())))', "clean(markdown)"),
        ("tests/agent/extractive/test_model.py::test_the_steps_of_an_answer_are_told_each_and_in_their_lines",),
    ),
    Mutation(
        "lines without the figure that is asked for are no answer",
        "agent/extractive/wanted.py",
        ("if has and not any(has(line.text) for line in lines)", "if False"),
        ("tests/agent/extractive/test_model.py::test_lines_without_the_figure_that_is_asked_for_are_no_answer",),
    ),
    Mutation(
        "a figure that is no time is no answer to how long",
        "agent/extractive/wanted.py",
        ("return figures(text).timed", "return bool(figures(text).atoms)"),
        ("tests/agent/extractive/test_model.py::test_a_figure_of_another_kind_than_the_one_asked_for_is_no_answer",),
    ),
    Mutation(
        "lines without a no do not tell what is not so",
        "agent/extractive/wanted.py",
        ("not _asks_what_is_not(asked) or", "True or"),
        ("tests/agent/extractive/test_model.py::test_lines_without_a_no_do_not_tell_what_is_not_so",),
    ),
    Mutation(
        "what does not work is told, not asked for",
        "agent/extractive/wanted.py",
        ('for clause in _CLAUSE.split(asked.rstrip(" ?。"))', "for clause in [asked]"),
        ("tests/agent/extractive/test_model.py::test_lines_without_a_no_do_not_tell_what_is_not_so",),
    ),
    Mutation(
        "where the fitting pages do not tell it, the others are shown",
        "agent/extractive/model.py",
        ("certainly, closest = False, await self._shown(asked, found, question, of=of)", "certainly = False"),
        ("tests/agent/extractive/test_model.py::test_where_the_fitting_pages_do_not_tell_it_others_are_shown_too",),
    ),
    Mutation(
        "a figure that is cut from a long line is not surely told",
        "agent/extractive/index.py",
        ('[replace(unit, text="\\n".join(_texts(unit))) for unit in units]', "list(units)"),
        ("tests/agent/extractive/test_model.py::test_a_figure_that_is_cut_from_a_long_line_is_not_surely_told",),
    ),
    Mutation(
        "the figure that is asked for comes before words",
        "agent/extractive/excerpts.py",
        ("_FIGURE * bool(has and has(text))", "0.0"),
        ("tests/agent/extractive/test_excerpts.py::test_the_figure_that_is_asked_for_comes_before_words",),
    ),
    Mutation(
        "a version that heads a section is a figure of its passage",
        "agent/grounding/quantities.py",
        (r"\d{1,2}(?:(?=\s)|\.\d{1,2}(?=[ \t]+[^\W\d_]))", r"\d{1,2}(?:\.\d{1,2})*(?=\s)"),
        ("tests/agent/grounding/test_quantities.py::test_the_same_in_other_clothes",),
    ),
    Mutation(
        "a month is one however it is typed",
        "agent/extractive/wanted.py",
        ("    asked = with_capital_months(question)\n", "    asked = question\n"),
        (
            "tests/agent/extractive/test_model.py::test_a_row_of_a_table_tells_what_is_asked_of_it_and_nothing_of_another_row_or_column",
        ),
    ),
    Mutation(
        "a figure that a row has need not stand there in its words",
        "agent/extractive/wanted.py",
        ("        asked = asked.replace(fact.shown, \" \", 1)\n", "        pass\n"),
        (
            "tests/agent/extractive/test_model.py::test_a_row_of_a_table_tells_what_is_asked_of_it_and_nothing_of_another_row_or_column",
        ),
    ),
    Mutation(
        "the newer edition of a page is what the documents say",
        "agent/extractive/model.py",
        ("if beside and newer(question, other[0][1], first)", "if beside and False"),
        (
            "tests/agent/extractive/test_model.py::test_of_a_page_and_its_newer_edition_that_tells_it_too_the_newer_is_what_the_documents_say",
        ),
    ),
    Mutation(
        "a newer edition that does not tell it stands beside",
        "agent/extractive/model.py",
        (" and self._told(question, beside, other[0][1]):", ":"),
        (
            "tests/agent/extractive/test_model.py::test_of_a_page_and_its_newer_edition_that_tells_it_too_the_newer_is_what_the_documents_say",
        ),
    ),
    Mutation(
        "the edition that is asked for is in front",
        "agent/extractive/index.py",
        ("(len(asked & {*date}), date)", "(0, date)"),
        ("tests/agent/extractive/test_model.py::test_of_editions_of_a_page_the_newest_is_in_front",),
    ),
    Mutation(
        "sections about something else are not shown",
        "agent/extractive/excerpts.py",
        ("near = lead < _SECTION_BEHIND", "near = True"),
        (
            "tests/agent/extractive/test_excerpts.py::test_a_section_about_something_else_is_not_shown_beside_the_one_that_answers",
        ),
    ),
    Mutation(
        "a heading that asks stands with its answer alone",
        "retrieval/chunking.py",
        (" and not asked\n", "\n"),
        ("tests/retrieval/test_chunking.py::test_questions_stand_with_their_answers_alone",),
    ),
    Mutation(
        "a row of a table tells nothing of another row or column",
        "agent/extractive/wanted.py",
        ("not rows or any(map(told, rows))", "True"),
        (
            "tests/agent/extractive/test_model.py::test_a_row_of_a_table_tells_what_is_asked_of_it_and_nothing_of_another_row_or_column",
        ),
    ),
    Mutation(
        "what another section says is nothing of a row",
        "agent/extractive/wanted.py",
        (" if row.headings[: len(line.headings)] == line.headings", ""),
        (
            "tests/agent/extractive/test_model.py::test_a_row_of_a_table_tells_what_is_asked_of_it_and_nothing_of_another_row_or_column",
        ),
    ),
    Mutation(
        "a row that has a figure as another thing's does not tell it",
        "agent/extractive/wanted.py",
        (" and all(map(figures(there).hold, named))", ""),
        (
            "tests/agent/extractive/test_model.py::test_a_row_of_a_table_tells_what_is_asked_of_it_and_nothing_of_another_row_or_column",
        ),
    ),
    Mutation(
        "what words alone have found is not sure while meaning is away",
        "agent/extractive/model.py",
        (" and not partly\n", "\n"),
        (
            "tests/agent/extractive/test_model.py::test_what_was_found_by_words_alone_is_not_sure_while_meaning_is_away",
        ),
    ),
    Mutation(
        "a row of a table stands alone",
        "agent/extractive/excerpts.py",
        (" and not lines[at].table]", "]"),
        ("tests/agent/extractive/test_excerpts.py::test_the_row_that_is_asked_for_is_shown_without_the_others",),
    ),
    Mutation(
        "what the search does not put first is not what the documents say",
        "agent/extractive/model.py",
        (
            "first = next((hit for _, hit in found if of_that_name(question, hit.passage)), found[0][1])",
            "first = max((hit for _, hit in found), key=lambda hit: hit.relevance)",
        ),
        ("tests/agent/extractive/test_model.py::test_where_the_search_puts_another_passage_first_nothing_is_sure",),
    ),
    Mutation(
        "a question stands with its own answer",
        "retrieval/chunking.py",
        ("            for group in _pairs(blocks):\n", "            for group in [blocks]:\n"),
        ("tests/retrieval/test_chunking.py::test_questions_stand_with_their_answers_alone",),
    ),
    Mutation(
        "relevance does not order",
        "retrieval/search.py",
        ("        judged = distinct(judged)\n", "        judged = sorted(distinct(judged), key=lambda hit: -hit.relevance)\n"),
        ("tests/retrieval/test_search.py::test_the_order_is_that_of_the_branches_and_never_that_of_relevance",),
    ),
    Mutation(
        "the asker's words weigh less",
        "retrieval/search.py",
        ('_words_weight(one) if written_by == "asker" and mode == "hybrid" else 1.0', "1.0"),
        ("tests/retrieval/test_search.py::test_an_askers_words_weigh_less_than_a_models",),
    ),
    Mutation(
        "a new question does not lean on the one before it",
        "agent/routing/follow_up.py",
        ("goes_on(found[0] if found else question)", "True"),
        ("tests/agent/extractive/test_model.py::test_a_new_question_that_finds_nothing_is_not_shown_the_page_of_the_one_before",),
    ),
    Mutation(
        "of a code and the one named in its place one is asked",
        "agent/routing/follow_up.py",
        ("else named[0]", "else code[0]"),
        ("tests/agent/routing/test_follow_up.py::test_a_code_takes_the_place_of_the_one_before_it_of_its_form",),
    ),
    Mutation(
        "a word about an answer is no question",
        "agent/extractive/model.py",
        ("COMMENTED if comments(message) else None", "None"),
        ("tests/agent/extractive/test_model.py::test_a_word_about_the_answer_is_not_searched_for",),
    ),
    Mutation(
        "meaning weighs no more where few lines are compared",
        "agent/extractive/excerpts.py",
        ("pstdev(leads.values()) if", "pstdev(leads.get(text, 0.0) for text in texts) if"),
        (
            "tests/agent/extractive/test_excerpts.py"
            "::test_meaning_of_a_few_lines_does_not_outweigh_what_their_words_say",
        ),
    ),
    Mutation(
        "a question that is taken back leaves the steps of those that lean on it",
        "bot/store/turns.py",
        ("            unquote(db, row, now)\n", ""),
        (
            "tests/bot/store/test_withdrawal.py"
            "::test_a_question_that_is_taken_back_leaves_the_steps_of_those_after_it_that_quote_it",
        ),
    ),
    Mutation(
        "a long paste does not hide the question behind it",
        "agent/conversation.py",
        ("question = without_middle(visible(ask.question), QUESTION_CHARACTERS)", "question = cut(visible(ask.question), QUESTION_CHARACTERS)"),
        ("tests/agent/test_conversation.py::test_of_a_question_behind_a_long_log_both_ends_stay",),
    ),
    Mutation(
        "a long turn is still what the next one goes on from",
        "bot/store/conversations.py",
        ("one = Exchange(without_middle(row.question, MAX_CHARACTERS // 4), cut(answer, MAX_CHARACTERS // 2))", "one = Exchange(row.question, answer)"),
        ("tests/bot/turns/test_turns.py::test_after_a_long_log_its_question_and_answer_are_still_the_conversation",),
    ),
    *(
        Mutation(what, file, change, tests)
        for what, file, change, tests in (
            (
                "of two questions both have to be told surely",
                "agent/extractive/model.py",
                ("all(look.certainly for look in seen)", "any(look.certainly for look in seen)"),
                ("tests/agent/extractive/test_model.py::test_where_one_of_two_questions_is_not_surely_told_the_answer_is_not_sure",),
            ),
            (
                "of two questions both have to be found",
                "agent/extractive/model.py",
                ("len(seen) == len(looks) and all(", "all("),
                ("tests/agent/extractive/test_model.py::test_where_nothing_is_found_of_one_of_two_questions_the_answer_is_not_sure",),
            ),
            (
                "many questions are not told surely by what fits them together",
                "agent/extractive/model.py",
                ("alone=alone and len(parts(turn.question)) == 1", "alone=alone"),
                ("tests/agent/extractive/test_model.py::test_each_of_five_questions_is_looked_up_and_more_are_as_one_that_is_never_sure",),
            ),
            (
                "an objection is not shown the same again",
                "agent/extractive/model.py",
                ("            if turn.about_answer:\n", "            if False:\n"),
                ("tests/agent/extractive/test_model.py::test_an_objection_alone_is_not_searched_for_and_leads_to_those_who_know",),
            ),
            (
                "half of two questions on one page is no answer",
                "agent/extractive/wanted.py",
                (">= _SOME * len(words)", ">= 0"),
                ("tests/agent/extractive/test_model.py::test_what_only_goes_on_from_a_question_has_to_be_told_too",),
            ),
            (
                "a question that goes on from the one before it stays with it",
                "agent/routing/parts.py",
                (" and not _goes_on(own)", ""),
                ("tests/agent/routing/test_parts.py",),
            ),
            (
                "what is only said between questions is none",
                "agent/routing/parts.py",
                ("asked and _asks(own) and", "asked and"),
                ("tests/agent/routing/test_parts.py",),
            ),
        )
    ),
    Mutation(
        "a follow-up is not answered surely from a page about something else",
        "agent/extractive/model.py",
        ("(strong and _first_page(own) == _first_page(others))", "strong"),
        ("tests/agent/extractive/test_model.py::test_a_page_that_fits_a_follow_up_alone_is_not_told_where_its_subject_is_another",),
    ),
    Mutation(
        "follow-ups keep the subject that they began with",
        "agent/routing/follow_up.py",
        ("(found[0], found[-1]) if len(found) > 1 else found", "found[-2:]"),
        ("tests/agent/routing/test_follow_up.py::test_a_follow_up_of_follow_ups_leans_on_the_last_and_on_what_they_began_with",),
    ),
    Mutation(
        "one wording a language is asked by meaning",
        "retrieval/search.py",
        ('wanted if written_by == "asker" else _first_of_each_language(wanted)', "wanted"),
        ("tests/retrieval/test_search.py::test_of_a_models_wordings_the_first_of_each_language_are_asked_by_meaning",),
    ),
    Mutation(
        "an asker who uses the documents' words is taken at them",
        "retrieval/search.py",
        ("max(0.0, 2 * share - 1)", "0.0"),
        ("tests/retrieval/test_search.py::test_an_asker_who_uses_the_documents_words_is_taken_at_them",),
    ),
    Mutation(
        "a reranker that fails takes nothing away",
        "retrieval/search.py",
        ("            return [*hits]\n", "            return []\n"),
        ("tests/retrieval/test_search.py::test_a_reranker_that_fails_leaves_the_order",),
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
        "audience: outsiders are promised nobody",
        "bot/turns/turns.py",
        ("reaches_team=reaches_team(message.audience)", "reaches_team=True"),
        ("tests/bot/turns/test_turns.py::test_the_agent_is_bound_to_the_readers_of_the_place",),
    ),
    Mutation(
        "audience: no promise in words",
        "agent/outcomes.py",
        ("(RECORDED if reaches_team else RESTRICTED)", "RECORDED"),
        ("tests/agent/strategies/test_react.py::test_nobody_is_promised_where_nobody_sees_what_is_missed",),
    ),
    Mutation(
        "scope of what is said in private",
        "bot/access.py",
        ('return TEAM if audience.visibility == "public" else scope_of(place)', "return TEAM"),
        ("tests/hostile/test_disclosure.py::test_llm02_a_private_question_is_elsewhere_only_a_count",),
    ),
    Mutation(
        "still readable before answering",
        "agent/run.py",
        ("if hit.passage.document_id in there}", "if True or hit.passage.document_id in there}"),
        (FORGOTTEN,),
    ),
    # what a model may do
    Mutation(
        "tools that exist",
        "agent/tool_calls.py",
        (
            "    if tool is None:\n        raise BadCallError(_UNKNOWN_TOOL",
            "    if tool is None:\n        tool = tools[-1]\n        return tool, {}\n        raise BadCallError(_UNKNOWN_TOOL",
        ),
        (f"{OBEDIENT}[LLM03-ja-tool-1]",),
    ),
    Mutation(
        "arguments that exist",
        "agent/tool_calls.py",
        ("    for key in given:\n        if key not in properties:", "    for key in ():\n        if key not in properties:"),
        (f"{OBEDIENT}[LLM09-ja-scope-1]",),
    ),
    Mutation(
        "a call that was cut short is made anew, and its end is not the turn's",
        "agent/tool_calls.py",
        (
            "        begun: dict[str, asyncio.Task[ToolResult]] = {}\n",
            "        begun = self.__dict__.setdefault('begun', {})\n",
        ),
        (f"{REACT_FAILURES}::test_a_search_that_the_time_for_searching_cut_off_is_made_once_more",),
    ),
    Mutation(
        "what a model says of its refusal is not shown",
        "agent/run.py",
        ("self._unchecked(text) if known and not", "self._unchecked(cleaned(said)) if known and not"),
        (f"{REACT_CALLS}::test_what_a_model_says_of_its_refusal_is_not_shown",),
    ),
    Mutation(
        "documents that are read on are those that were found",
        "agent/tools.py",
        ('if " ".join(hit.passage.document.split()) == wanted]', "if wanted in hit.passage.document_id]"),
        ("tests/agent/test_tools.py::test_only_what_was_found_and_is_there_can_be_read",),
    ),
    Mutation(
        "the closest page is one that may be read",
        "agent/run.py",
        (
            "        hits = await self._readable()\n        cited = [",
            "        hits = self.findings.hits\n        cited = [",
        ),
        ("tests/agent/strategies/test_react.py::test_the_closest_page_is_what_the_draft_names_and_no_markup_of_its_own_survives",),
    ),
    # what is posted
    Mutation(
        "nothing about the team is posted unsearched",
        "agent/run.py",
        ("        return not (findings.listed and answer and", "        return False and not (findings.listed and answer and"),
        ("tests/agent/strategies/test_react.py::test_what_a_model_would_answer_unsearched_is_searched_by_code",),
    ),
    Mutation(
        "a refusal tells nothing that nobody has looked up",
        "agent/run.py",
        ("            known = findings.searches or self", "            known = True or self"),
        ("tests/agent/strategies/test_react.py::test_what_a_refusal_says_of_the_team_without_a_search_is_not_posted",),
    ),
    Mutation(
        "a call written as text is a call",
        "agent/model_call.py",
        ("    if schema is None and not message.calls:", "    if False and schema is None and not message.calls:"),
        ("tests/agent/strategies/test_react_calls.py::test_a_call_written_as_text_is_a_call_also_in_the_last_stage",),
    ),
    Mutation(
        "an empty last reply is a failure",
        "agent/run.py",
        ("        if not answers(said):", "        if False and not answers(said):"),
        ("tests/agent/strategies/test_react_calls.py::test_an_empty_last_reply_is_a_failure",),
    ),
    Mutation(
        "earlier answers come back without their numbers",
        "agent/conversation.py",
        ("without_marks(visible(exchange.answer))", "visible(exchange.answer)"),
        ("tests/agent/strategies/test_react.py::test_earlier_exchanges_are_part_of_the_conversation",),
    ),
    Mutation(
        "what a judge does not find is marked",
        "agent/run.py",
        ('"entailed" if each == "entailed" else "not_stated"', '"entailed" if each else "not_stated"'),
        ("tests/agent/test_judging.py::test_what_code_cannot_decide_a_judge_decides_in_one_call",),
    ),
    Mutation(
        "the review is told what the check has found",
        "agent/reflection.py",
        ("    if objections:\n", "    if False and objections:\n"),
        ("tests/agent/test_judging.py::test_the_review_is_told_what_the_check_objects_to_and_all_passages",),
    ),
    Mutation(
        "a model that is not sure says so",
        "agent/run.py",
        ("unsure=sure is False or lost or not", "unsure=lost or not"),
        ("tests/agent/strategies/test_react.py::test_a_model_says_how_sure_it_is",),
    ),
    Mutation(
        "the mark of a refusal alone refuses nothing",
        "agent/run.py",
        ("return text.startswith(DECLINED) and bool(cleaned(text))", "return text.startswith(DECLINED)"),
        ("tests/agent/strategies/test_react.py::test_the_mark_of_a_refusal_alone_is_none",),
    ),
    Mutation(
        "a call that a model repeats as its conversation shows it is one",
        "agent/tool_calls.py",
        ('commentary))*\\s*"', 'commentary))+\\s*"'),
        ("tests/agent/test_tool_calls.py::test_every_form_of_a_call",),
    ),
    Mutation(
        "a reply that repeats itself without end is given up",
        "agent/model_call.py",
        ("                        loop.hear(part.text)\n", "                        pass\n"),
        ("tests/agent/strategies/test_react.py::test_a_model_that_repeats_itself_does_not_use_up_the_turn",),
    ),
    Mutation(
        "turns that end",
        "agent/strategies/react.py",
        ("for _ in range(self._max_turns):", "for _ in range(40):"),
        # in the whole application the cap on a turn's calls would end it too
        ("tests/agent/strategies/test_react_calls.py::test_after_max_turns_the_answer_is_written_without_tools",),
    ),
    Mutation(
        "instructions that stay hidden",
        "agent/conversation.py",
        ("    return len(said) >= _ECHO and any(", "    return False and any("),
        ("tests/agent/strategies/test_react_calls.py::test_instructions_are_not_repeated",),
    ),
    Mutation(
        "hidden characters",
        "retrieval/loaders/sanitize.py",
        ('    text = _UNSEEN.sub("", text)\n', ""),
        ("tests/hostile/test_injection.py::test_llm01_what_nobody_sees_no_model_reads",),
    ),
    # what an answer may hold
    Mutation(
        "a model that cannot read all that was found is given less of it",
        "agent/run.py",
        ("                if room < LEAST_RESULTS:\n", "                if True:\n"),
        ("tests/agent/strategies/test_react_failures.py",),
    ),
    Mutation(
        "citation check: numbers",
        "agent/grounding/check.py",
        ("            if wrong:\n", "            if False:\n"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: what stands in the passage is its own",
        "agent/grounding/check.py",
        ("        if missing and not self._quoted(claim, sources):\n", "        if missing:\n"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: half a number is not what stands there",
        "agent/grounding/evidence.py",
        ('rf"(?<![\\d.,]){re.escape(sentence)}(?![.,]?\\d)"', "re.escape(sentence)"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: what is left out is told",
        "agent/grounding/check.py",
        ("    if removed:\n        written +=", "    if False:\n        written +="),
        ("tests/agent/grounding/test_answers.py",),
    ),
    Mutation(
        "citation check: a link to a page cites the page",
        "agent/grounding/check.py",
        ("(_linked(claims, evidence) if linked else {})", "{}"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: the passages of a page that say most of a sentence",
        "agent/grounding/check.py",
        (" if share == max(shares.values()))", ")"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: a link whose words are a citation is one",
        "agent/links.py",
        ("        if mark and not {*cited}.isdisjoint(mark_numbers(mark)):\n", "        if False:\n"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: computed figures",
        "agent/grounding/check.py",
        ("            if not each.holds:\n", "            if False:\n"),
        ("tests/agent/grounding/test_arithmetic.py",),
    ),
    Mutation(
        "citation check: a list's markers prove nothing",
        "agent/grounding/quantities.py",
        ("(_ENUMERATOR if claim else _MARKER).sub(\" \", text)", "_ENUMERATOR.sub(\" \", text) if claim else text"),
        ("tests/agent/grounding/test_answers.py",),
    ),
    Mutation(
        "citation check: a month of another year",
        "agent/grounding/quantities.py",
        ("and not self._of_another_year(fact))", ")"),
        ("tests/agent/grounding/test_quantities.py",),
    ),
    Mutation(
        "citation check: a rounded figure is near",
        "agent/grounding/quantities.py",
        ("    if abs(exact - told) * _ROUGH > abs(told):\n        return False\n", ""),
        ("tests/agent/grounding/test_quantities.py",),
    ),
    Mutation(
        "citation check: an example multiplies what the passage has",
        "agent/grounding/reckoning.py",
        (" and {*sides} - {wanted.amount} <= {*known}:", ":"),
        ("tests/agent/grounding/test_arithmetic.py",),
    ),
    Mutation(
        "citation check: a difference is told as one",
        "agent/grounding/reckoning.py",
        (" or not _COMPARES.search(sentence.text):", ":"),
        ("tests/agent/grounding/test_arithmetic.py",),
    ),
    Mutation(
        "citation check: what comes of an operand does not prove it",
        "agent/grounding/reckoning.py",
        (" if results.isdisjoint(_amounts([each])))", ")"),
        ("tests/agent/grounding/test_arithmetic.py",),
    ),
    Mutation(
        "citation check: a date falls on its weekday",
        "agent/grounding/check.py",
        ("            elif False in falls:\n", "            elif False:\n"),
        ("tests/agent/grounding/test_arithmetic.py",),
    ),
    Mutation(
        "citation check: no end of numbers from nowhere",
        "agent/grounding/check.py",
        ("            if len(missing) > MOST:\n", "            if False:\n"),
        ("tests/agent/grounding/test_arithmetic.py",),
    ),
    Mutation(
        "citation check: a figure without what it is computed from",
        "agent/grounding/check.py",
        ("        if claim.reckoned:\n", "        if False:\n"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: another department",
        "agent/grounding/check.py",
        ("        if strange:\n            return self._said(_NAME, strange[0].text), False\n        if claim", "        if claim"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: who gives in to the asker",
        "agent/grounding/check.py",
        (" or (not denies(plain) and _otherwise(alone, alike))", ""),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: a second source that says nothing of it",
        "agent/grounding/check.py",
        ("tuple(n for n in cites if self._evidence[n].touches(claim)) or cites", "cites"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: commands in a block",
        "agent/grounding/check.py",
        ("        if strange := checker.strange_code(line.raw):\n", "        if strange := \"\":\n"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: an invented address is told",
        "agent/grounding/check.py",
        ("        if GAP in claim.sentence.raw and not claim.refuted:\n", "        if False:\n"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "citation check: a level is no year",
        "agent/grounding/numerals.py",
        (r"(?=年|[./]\d)", r"(?=[.年/]\d{0,2})"),
        ("tests/agent/grounding/test_quantities.py",),
    ),
    Mutation(
        "what nobody has judged is not sure",
        "agent/run.py",
        ("lost or not judged or bool", "lost or bool"),
        ("tests/agent/test_judging.py",),
    ),
    Mutation(
        "a sum is recomputed",
        "agent/run.py",
        ("return said if right and all(each.holds for each in equations(said)) else answer", "return said if said else answer"),
        ("tests/agent/strategies/test_react.py",),
    ),
    Mutation(
        "an answer in another language is objected to",
        "agent/run.py",
        ("[*checked.objections, *in_other_language(text, self.ask)]", "list(checked.objections)"),
        ("tests/agent/strategies/test_react.py",),
    ),
    Mutation(
        "citation check: a row of a table contradicts no row that is quoted",
        "agent/grounding/evidence.py",
        (" or said in self._rows", ""),
        ("tests/agent/grounding/test_check.py::test_a_quoted_row_of_a_table_says_what_it_says",),
    ),
    *(
        Mutation(
            f"judge: {name}",
            "agent/grounding/evidence.py",
            (line, ""),
            ("tests/agent/grounding/test_check.py",),
        )
        for name, line in (
            ("a condition that is dropped", "            and turns(sentence) == conditions\n"),
            ("another letter", "            and {*_CHARACTER.findall(plain.upper())} <= {*sentence.upper()}\n"),
            ("the number beside it", "            and len(facts(sentence)) <= len(claim.facts)\n"),
        )
    ),
    Mutation(
        "citation check: people across languages",
        "agent/grounding/entities.py",
        ('    return name.kind in ("code", "person") or', '    return name.kind == "code" or'),
        ("tests/agent/grounding/test_transliteration.py",),
    ),
    Mutation(
        "judge: a claim with two verdicts",
        "agent/grounding/judge.py",
        ("            unclear.add(place)\n", "            pass\n"),
        ("tests/agent/grounding/test_judge.py",),
    ),
    Mutation(
        "citation check: only what was retrieved",
        "agent/grounding/check.py",
        ("tuple(n for n in claim.sentence.cited if n in known)", "tuple(claim.sentence.cited)"),
        ("tests/agent/grounding/test_check.py",),
    ),
    Mutation(
        "steps and reflections name documents, not the model's numbers",
        "agent/run.py",
        ("put_nowait(self._shown(event))", "put_nowait(event)"),
        ("tests/agent/strategies/test_react.py::test_steps_name_documents_where_the_answer_has_numbers_of_its_own",),
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
        "adapters/markdown/events.py",
        ('    return _PING.sub("\\\\g<0>\\u200b", text)', "    return text"),
        (f"{OBEDIENT}[LLM01-ja-mention-1]",),
    ),
    Mutation(
        "addresses in steps and names",
        "adapters/markdown/events.py",
        ('    left = scrubbed(text, (), gap="…")', "    left = visible(text).strip()"),
        (WORDS,),
    ),
    Mutation(
        "markup of names and quotations",
        "adapters/markdown/events.py",
        ('_MARKUP = re.compile(r"([\\[\\]\\\\<])")', '_MARKUP = re.compile(r"(\\\\)")'),
        (WORDS, "tests/adapters/markdown/test_events.py"),
    ),
    # what must happen once, or not half
    Mutation(
        "a claim is unique",
        "bot/store/turns.py",
        ('        "claim": claim_key(message),', '        "claim": turn,'),
        ("tests/bot/turns/test_queue.py::test_a_question_is_claimed_once",),
    ),
    Mutation(
        "a dead process's questions are taken over",
        "bot/app.py",
        ("            await inherit(data.engine, datetime.now(UTC))\n", "            pass\n"),
        ("tests/bot/test_app.py::test_a_start_inherits_at_once_what_a_dead_process_held",),
    ),
    Mutation(
        "no step of the clock takes a turn from the process that has it",
        "bot/store/turns.py",
        (" free(turns, now), turns.c.id.not_in(held))", " free(turns, now))"),
        ("tests/bot/turns/test_queue.py::test_no_step_of_the_clock_takes_a_turn_from_the_process_that_has_it",),
    ),
    Mutation(
        "no step of the clock starts two turns of a thread",
        "bot/store/turns.py",
        (" and (row.lease_until > now or row.id in held)", " and row.lease_until > now"),
        ("tests/bot/turns/test_queue.py::test_no_step_of_the_clock_takes_a_turn_from_the_process_that_has_it",),
    ),
    Mutation(
        "a step of the clock does not keep from the living what the dead held",
        "bot/store/leases.py",
        ("values(owner=None, lease_until=passed)", "values(lease_until=passed)"),
        ("tests/bot/turns/test_queue.py::test_the_next_process_of_a_home_takes_over_at_once_whatever_the_clock_says",),
    ),
    Mutation(
        "between processes the clock of the server counts",
        "bot/store/engine.py",
        ('{"clock": "server", ', "{"),
        ("tests/bot/turns/test_queue.py::test_between_processes_the_clock_of_the_server_counts",),
    ),
    Mutation(
        "no step of the clock has a notice said twice",
        "bot/store/notifications.py",
        (", notices.c.id.not_in(saying))", ")"),
        ("tests/bot/store/test_outbox.py::test_a_process_is_given_a_notice_again_when_a_minute_of_its_own_has_passed",),
    ),
    Mutation(
        "nobody waits for the pool of connections itself",
        "bot/store/engine.py",
        ("asyncio.Semaphore(size - 1)", "asyncio.Semaphore(1_000)"),
        (
            "tests/bot/turns/test_turns.py::test_more_turns_than_connections_are_all_answered",
            "tests/bot/store/test_engine.py::test_nobody_fails_for_want_of_a_connection_however_many_wait",
        ),
    ),
    Mutation(
        "the connections of a server's database are given in the order of coming",
        "bot/store/engine.py",
        ('"places": asyncio.Semaphore(size)}', '"places": asyncio.Semaphore(1_000)}'),
        ("tests/bot/store/test_engine.py::test_nobody_fails_for_want_of_a_connection_however_many_wait",),
    ),
    Mutation(
        "an asker is told that the database keeps a turn waiting",
        "bot/turns/turns.py",
        ("                yield Thought(_SLOW.to(turn.language))\n", "                pass\n"),
        ("tests/bot/turns/test_turns.py::test_an_asker_is_told_when_the_database_keeps_a_turn_waiting",),
    ),
    Mutation(
        "those who ask for collections together share a look",
        "bot/store/collections.py",
        ("await self._looks(None)", "(await self._look([None]))[0]"),
        ("tests/bot/store/test_store.py::test_those_who_ask_for_collections_together_share_a_look_begun_after_they_asked",),
    ),
    Mutation(
        "the frame of every help is in the language of the interface",
        "bot/cli/help.py",
        ("            setattr(rich_utils, name, text)\n", "            pass\n"),
        ("tests/bot/cli/test_commands.py::test_help_is_japanese_throughout",),
    ),
    Mutation(
        "what is mistyped is said in the language of the interface",
        "bot/cli/help.py",
        ('_MISTAKES if LANGUAGE == "ja" else ()', "()"),
        ("tests/bot/cli/test_commands.py::test_what_is_mistyped_is_said_in_the_language_of_the_interface",),
    ),
    Mutation(
        "no file of a home takes the place of a standard stream that came closed",
        "bot/cli/commands.py",
        ("    output.open_streams()\n", ""),
        ("tests/bot/cli/test_commands.py::test_with_standard_streams_closed_it_does_the_same",),
    ),
    Mutation(
        "a line of .env that cannot be read is said, not dropped",
        "bot/config/settings.py",
        ("    if problems := _misread(env_file):\n        raise SettingsError(*problems)\n", ""),
        ("tests/bot/config/test_settings.py::test_what_the_file_cannot_say_is_said_before_anything_else",),
    ),
    Mutation(
        "a command waits for an owner that starts or stops",
        "bot/cli/remote.py",
        ("            elif loop.time() > end:\n", "            if True:\n"),
        ("tests/bot/cli/test_remote.py::test_a_command_waits_for_an_owner_that_is_starting",),
    ),
    Mutation(
        "a command that meets an owner as it stops is done afterwards",
        "bot/cli/remote.py",
        ("(OwnerRefusedError if self._answered else OwnerGoneError)", "OwnerRefusedError"),
        ("tests/bot/cli/test_remote.py::test_a_command_that_meets_an_owner_as_it_stops_opens_the_home_afterwards",),
    ),
    Mutation(
        "a command is not done twice where the owner was killed",
        "bot/cli/remote.py",
        ("            if (home / SOCKET).exists():", "            if False:"),
        ("tests/bot/cli/test_remote.py::test_a_command_is_not_done_twice_where_the_owner_was_killed",),
    ),
    Mutation(
        "an owner has its home from its first moment",
        "bot/cli/runtime.py",
        ("        first()\n", "        os.close(lock)\n        first()\n"),
        ("tests/bot/cli/test_commands.py::test_an_owner_has_its_home_before_it_loads_anything",),
    ),
    Mutation(
        "a list with one name is not read as JSON",
        "bot/config/settings.py",
        ("        enable_decoding=False,", "       "),
        ("tests/bot/config/test_settings.py::test_each_setting_may_have_one_value",),
    ),
    Mutation(
        "an answer is stored before it is shown",
        "bot/store/turns.py",
        ("                keep_answers(db, [(each.turn", "                [].extend([(each.turn"),
        (f"{KILLED}::test_a_question_is_answered_once_wherever_the_process_died",),
    ),
    Mutation(
        "what was not committed goes at the start",
        "bot/knowledge/snapshots.py",
        ("            await self._index.roll_back(self.current)\n", ""),
        (f"{KILLED}::test_a_search_finds_the_old_or_the_new_version_wherever_the_process_died",),
    ),
    Mutation(
        "a database that does not know the index is refused",
        "bot/knowledge/identity.py",
        ("        return None if mine else self._foreign(what, index.home)\n", "        return None\n"),
        (f"{IDENTITY}::test_two_homes_do_not_share_a_collection",),
    ),
    Mutation(
        "an old copy of the database is refused",
        "bot/knowledge/identity.py",
        ("self._error(_OLDER, what) if await index.after(self.generation + 1) else None", "None"),
        (f"{STRANGE_DATABASE}[embedded-restored_by_hand-]",),
    ),
    Mutation(
        "an index from before is known by its documents",
        "bot/knowledge/identity.py",
        ("if await index.strangers(self.generation, {row.id for row in self.rows}):", "if False:"),
        (f"{IDENTITY}::test_a_collection_from_before_is_not_taken_over_by_another_home",),
    ),
    Mutation(
        "a home from before starts",
        "bot/knowledge/identity.py",
        ("not await index.after(0) or await self.knows(index)", "not await index.after(0)"),
        (f"{IDENTITY}::test_a_home_from_before_gets_an_identity_at_its_first_start",),
    ),
    Mutation(
        "kept documents that the database does not know stay",
        "bot/knowledge/identity.py",
        ("        return self._foreign(filled(_TEXTS, place=str(self.texts)), mark)\n", "        return None\n"),
        (f"{IDENTITY}::test_the_kept_documents_are_not_deleted_where_the_index_is_gone_too",),
    ),
    Mutation(
        "one document that two homes have does not make them one",
        "bot/knowledge/identity.py",
        (" and (known <= there or len(there - known) <= 1)", ""),
        (f"{IDENTITY}::test_texts_without_an_identity_are_known_by_those_of_the_documents",),
    ),
    Mutation(
        "a commit meanwhile is no old database",
        "bot/knowledge/identity.py",
        ("        if now.generation == identity.generation:\n", "        if now.generation >= identity.generation:\n"),
        (f"{IDENTITY}::test_a_commit_of_another_process_meanwhile_is_no_reason_to_refuse",),
    ),
    Mutation(
        "another embedder's index is not made anew unasked",
        "bot/knowledge/vector_store.py",
        ("if not made_of(row).same_embedder(wanted):", "if renew is None:"),
        ("tests/bot/doctor/test_doctor.py::test_an_index_of_another_embedder_is_not_renewed_unasked",),
    ),
    Mutation(
        "a document whose text is lost comes over in the passages that the old index has",
        "bot/knowledge/reindex.py",
        ("            if len(cut) != row.chunks and not nowhere:\n", "            if cut:\n"),
        ("tests/bot/knowledge/test_reindex.py::test_a_document_whose_text_is_lost_comes_over_as_the_old_store_has_it",),
    ),
    Mutation(
        "a document of which nothing is left does not keep the others from being found",
        "bot/knowledge/reindex.py",
        ("nowhere = copy.everything and isinstance", "nowhere = False and isinstance"),
        (NOWHERE,),
    ),
    Mutation(
        "a text that is there again is found again",
        "bot/knowledge/reindex.py",
        ("            if nowhere != await self._kept.lost(nowhere):\n", "            if False:\n"),
        (NOWHERE,),
    ),
    Mutation(
        "a text that is lost comes back with its document",
        "bot/knowledge/documents.py",
        ("if known and known.hash == digest and await self._whole(known):", "if known and known.hash == digest:"),
        ("tests/bot/knowledge/test_documents.py::test_a_document_whose_kept_text_is_lost_is_added_again",),
    ),
    Mutation(
        "a re-index judges what is in its way",
        "bot/knowledge/reindex.py",
        ("                await self._own(left, False)\n", "                pass\n"),
        (f"{IDENTITY}::test_a_collection_from_before_is_not_taken_over_by_another_home",),
    ),
    Mutation(
        "another home's folder of vectors is not deleted",
        "retrieval/index/stores.py",
        ('(home := home_in(place / "shard")) not in (None, self._home)', '(home := "") is None'),
        (f"{IDENTITY}::test_an_index_built_anew_carries_the_identity_and_leaves_other_homes_alone",),
    ),
    Mutation(
        "another home's collection is not deleted",
        "retrieval/index/server.py",
        ("(its := _home(info.config.metadata)) not in (None, home)", '(its := "") is None'),
        ("tests/retrieval/index/test_server.py::test_whose_a_collection_is_is_in_its_metadata",),
    ),
    Mutation(
        "a database that does not know the home is not listed",
        "bot/cli/runtime.py",
        ("            await refuse_strange(settings, data.engine)\n", ""),
        (f"{IDENTITY}::test_the_command_says_what_to_do",),
    ),
    Mutation(
        "a command that only looks cleans nothing up",
        "bot/cli/runtime.py",
        ("running(settings, redactor, lock=lock, tidy=changes)", "running(settings, redactor, lock=lock)"),
        (f"{IDENTITY}::test_commands_that_look_clean_nothing_up",),
    ),
    Mutation(
        "nothing is set aside that the database needs and has not",
        "bot/knowledge/set_aside.py",
        ("    if lost:\n", "    if False:\n"),
        (f"{IDENTITY}::test_the_database_of_another_home_moves_nothing",),
    ),
    Mutation(
        "a backup is not restored into another home's collection",
        "bot/operations/restore.py",
        ("    if index.home != identity.home:\n", "    if False:\n"),
        (f"{IDENTITY}::test_a_backup_is_restored_into_no_collection_that_is_in_use",),
    ),
    Mutation(
        "a restored home is not the one that was backed up",
        "bot/operations/restore.py",
        ("        await Homes(engine).become(home)\n", "        home = await Homes(engine).identity(home)\n"),
        (
            f"{IDENTITY}::test_a_backup_becomes_a_home_of_its_own",
            f"{IDENTITY}::test_a_backup_is_restored_into_no_collection_that_is_in_use",
        ),
    ),
    Mutation(
        "teaching: what corrects an answer is asked about, whenever and by whom it is written",
        "bot/unanswered/card_replies.py",
        ("answer = next((one for _, one in standing(earlier) if", "answer = next((one for _, one in standing(()) if"),
        (f"{CARD_REPLIES}::test_whoever_else_says_it_anew_is_its_author_once_its_author_agrees",),
    ),
    Mutation(
        "teaching: somebody else's words are not added to an answer",
        "bot/unanswered/card_replies.py",
        ('goes_on = answer.get("by") == new["by"] and ', "goes_on = "),
        (f"{CARD_REPLIES}::test_whoever_else_says_it_anew_is_its_author_once_its_author_agrees",),
    ),
    Mutation(
        "teaching: the last of several replies is saved alone",
        "adapters/shared/expert_answers.py",
        ("card_replies.anew(now) if anew else now", "now"),
        (f"{CARD_REPLIES}::test_of_several_replies_the_last_may_be_the_answer_alone[slack]",),
    ),
    Mutation(
        "teaching: the last of several replies is saved alone, in the browser",
        "adapters/web/channel/digest.py",
        ("card_replies.anew(now) if anew else now", "now"),
        (f"{CARD_REPLIES}::test_of_several_replies_the_last_may_be_the_answer_alone[web]",),
    ),
    Mutation(
        "teaching: who says an answer anew is its author",
        "bot/unanswered/corrections.py",
        ("(author, url) if author else (row.author, row.url)", "(row.author, row.url)"),
        (f"{CARD_REPLIES}::test_whoever_else_says_it_anew_is_its_author_once_its_author_agrees",),
    ),
    Mutation(
        "teaching: a question back is no answer",
        "adapters/shared/expert_answers.py",
        (" and not (card_replies.QUESTION.search(clause) and asks_what(clause))", ""),
        ("tests/adapters/shared/test_expert_answers.py::test_what_may_be_an_answer",),
    ),
    Mutation(
        "teaching: a word that lets them do it is not lost",
        "adapters/shared/expert_answers.py",
        ('if not card.data["closed"] and approves(own):', "if False:"),
        (f"{CARD_REPLIES}::test_a_word_that_lets_them_do_it_is_an_answer_while_there_is_none",),
    ),
    Mutation(
        "teaching: who will find an answer is said before",
        "adapters/shared/expert_answers.py",
        ("found is None or _reaches_team(found)", "True"),
        ("tests/adapters/shared/test_expert_answers.py::test_who_will_find_an_answer_is_known_before",),
    ),
    Mutation(
        "teaching: what is typed below a card is not lost",
        "adapters/shared/expert_answers.py",
        ("return last if last is not None and last.kind == \"card\"", "return last if False"),
        (
            "tests/adapters/slack/test_asking.py"
            "::test_an_answer_that_is_typed_below_the_card_is_asked_about_and_a_question_is_not",
        ),
    ),
    Mutation(
        "teaching: an answer whose words are edited is asked about",
        "bot/unanswered/card_replies.py",
        ('if "saved" not in data or reply not in', "if True or reply not in"),
        (f"{CARD_REPLIES}::test_an_answer_whose_words_are_edited_is_asked_about_again",),
    ),
    Mutation(
        "teaching: an answer whose reply is deleted may be taken back",
        "adapters/shared/expert_answers.py",
        ("        if not any(card_replies.replies(meant)):\n", "        if False:\n"),
        (f"{CARD_REPLIES}::test_an_answer_whose_reply_is_deleted_may_be_taken_back",),
    ),
    Mutation(
        "teaching: no to new words leaves the answer what it was",
        "bot/unanswered/card_replies.py",
        ('now.get("before", taken_back(now))', '{**now, "discarded": True}'),
        (f"{CARD_REPLIES}::test_an_answer_whose_words_are_edited_is_asked_about_again",),
    ),
    Mutation(
        "a question that is typed below a card is answered",
        "adapters/shared/expert_answers.py",
        ("last = None if _asks(text) else await", "last = await"),
        (
            "tests/adapters/discord/test_asking.py"
            "::test_an_answer_that_is_typed_below_the_card_is_asked_about_and_a_question_is_not",
        ),
    ),
    Mutation(
        "a question without a mark that is typed below a card is answered",
        "adapters/shared/expert_answers.py",
        (" or requests(text)", ""),
        (
            "tests/adapters/discord/test_asking.py"
            "::test_an_answer_that_is_typed_below_the_card_is_asked_about_and_a_question_is_not",
        ),
    ),
    Mutation(
        "teaching: an answer that is edited is no question",
        "adapters/shared/expert_answers.py",
        ("        return card_replies.belongs(kept, reply)", "        return False"),
        (
            "tests/adapters/discord/test_asking.py"
            "::test_an_answer_that_was_typed_below_the_card_is_followed_and_no_question_when_it_is_edited",
        ),
    ),
    Mutation(
        "teaching: what was replaced takes no answer along",
        "bot/unanswered/card_replies.py",
        (" and not changed & documents", ""),
        ("tests/bot/unanswered/test_card_replies.py::test_what_a_later_answer_has_replaced_holds_no_reply_any_more",),
    ),
    Mutation(
        "teaching: no answer is taken back that was changed meanwhile",
        "bot/unanswered/corrections.py",
        ("            if version and row.hash != version:", "            if False:"),
        (f"{CARD_REPLIES}::test_no_answer_is_taken_back_that_was_changed_meanwhile[web]",),
    ),
    Mutation(
        "teaching: words that are no longer there are not lost by adding to them",
        "bot/unanswered/card_replies.py",
        (' and "differs" not in answer', ""),
        (f"{CARD_REPLIES}::test_words_that_are_no_longer_there_are_not_lost_by_adding_to_them[web]",),
    ),
    Mutation(
        "teaching: people who talk below an answer are asked once",
        "bot/unanswered/card_replies.py",
        (" and _talk(answer, earlier)", " and False"),
        ("tests/bot/unanswered/test_card_replies.py::test_people_who_talk_below_an_answer_are_asked_once",),
    ),
    Mutation(
        "teaching: what was saved in part stays saved when the rest is declined",
        "bot/unanswered/card_replies.py",
        ('"earlier": earlier, "before": done}', '"earlier": earlier}'),
        ("tests/bot/unanswered/test_card_replies.py::test_what_was_saved_in_part_stays_saved_when_the_rest_is_declined",),
    ),
    Mutation(
        "teaching: what is to be added is so, too, once the answer was mended",
        "bot/unanswered/card_replies.py",
        ('return {**data, "answers": answer["saved"]}', "return data"),
        (f"{CARD_REPLIES}::test_what_is_to_be_added_is_so_too_once_the_answer_was_mended[web]",),
    ),
    Mutation(
        "who is asked learns nothing that was asked before a private question",
        "bot/unanswered/asking.py",
        ('question.before if question.scope == TEAM else ""', "question.before"),
        ("tests/bot/unanswered/test_asking.py::test_of_what_a_private_question_goes_on_from_nobody_elsewhere_is_told",),
    ),
    Mutation(
        "a form shows nothing that was asked before a private question",
        "bot/store/unanswered.py",
        ('one if one.scope in scopes else replace(one, before="", earlier=())', "one"),
        ("tests/bot/unanswered/test_asking.py::test_of_what_a_private_question_goes_on_from_nobody_elsewhere_is_told",),
    ),
    Mutation(
        "what was asked for other readers is not said of a question that goes on from it",
        "bot/store/unanswered.py",
        (" & (_earlier.c.audience == _own.c.audience)", ""),
        ("tests/bot/unanswered/test_digest.py::test_what_goes_on_from_another_question_is_read_and_searched_with_it",),
    ),
    Mutation(
        "teaching: what a private question goes on from stays there",
        "bot/unanswered/expert_answers.py",
        ("if one.scope != scope for text in (one.question, one.whole)", "if one.scope != scope for text in (one.question,)"),
        (f"{TAUGHT}::test_what_a_private_question_goes_on_from_is_private_too",),
    ),
    Mutation(
        "a card's line goes with the earlier question whose words it has",
        "bot/unanswered/digest_card.py",
        ('return line, [" ".join(turns)] * len(line)', 'return line, [""] * len(line)'),
        ("tests/bot/unanswered/test_digest.py::test_what_goes_on_from_another_question_is_read_and_searched_with_it",),
    ),
    Mutation(
        "teaching: no key becomes an answer",
        "bot/unanswered/expert_answers.py",
        ("_SECRET if holds_secret(answer) else None", "None"),
        (f"{TAUGHT}::test_what_cannot_be_learnt_is_refused_in_words",),
    ),
    Mutation(
        "teaching: a forwarded message is learnt as it was asked about",
        "adapters/slack/events.py",
        ("for one in (event, *forwarded(event))]", "for one in (event,)]"),
        ("tests/adapters/slack/test_asking.py::test_what_is_forwarded_as_the_answer_is_learnt",),
    ),
    Mutation(
        "teaching: that nobody knows is not learnt",
        "bot/unanswered/expert_answers.py",
        ("if puts_off(answer):", "if False:"),
        (f"{TAUGHT}::test_what_cannot_be_learnt_is_refused_in_words",),
    ),
    Mutation(
        "teaching: a key in a question is kept with none of its wordings",
        "bot/unanswered/expert_answers.py",
        ("without_secrets(clean_line(question, QUESTION))", "clean_line(question, QUESTION)"),
        (f"{TAUGHT}::test_a_key_in_a_question_is_kept_with_none_of_its_wordings",),
    ),
    Mutation(
        "teaching: whoever was told an older answer hears the newer one",
        "bot/store/notifications.py",
        ("earlier = _told(db, telling.changed)", "earlier = _told(db, ())"),
        (f"{ANSWERS}::test_whoever_was_told_an_older_answer_hears_the_one_that_takes_its_place",),
    ),
    Mutation(
        "a confirmation that was saved in part is found again",
        "bot/unanswered/card_replies.py",
        (
            'next(one for one in found if one.data.get("replies") == data["replies"][:-1])',
            "replace(found[0], about=f\"confirm:{channel}:{data['replies'][0]}\")",
        ),
        ("tests/bot/unanswered/test_card_replies.py::test_a_question_that_was_saved_in_part_goes_on_under_its_own_name",),
    ),
    Mutation(
        "a home that is restored on another machine is another one",
        "bot/operations/restore.py",
        (" {settings.home.stat().st_ino}", ""),
        (f"{IDENTITY}::test_a_restore_goes_on_in_the_collection_that_it_began",),
    ),
    Mutation(
        "the headers of a backup have an end",
        "bot/operations/restore.py",
        ("        if self.left < 0:\n", "        if False:\n"),
        (f"{BACKUPS}::test_an_archive_that_would_take_all_there_is_takes_nothing",),
    ),
    Mutation(
        "a file of a backup is no hole",
        "bot/operations/restore.py",
        ("entry.isreg() and not entry.issparse()", "entry.isreg()"),
        (f"{BACKUPS}::test_an_archive_that_would_take_all_there_is_takes_nothing",),
    ),
    Mutation(
        "a restore that was cut off leaves no copy behind",
        "bot/operations/restore.py",
        ("elif path.name != MANIFEST:", "elif path.name == MANIFEST:"),
        (f"{BACKUPS}::test_a_restore_killed_anywhere_is_refused_or_complete",),
    ),
    Mutation(
        "a backup fits on the disk",
        "bot/operations/restore.py",
        (") > room:", ") < 0:"),
        (f"{BACKUPS}::test_an_archive_that_would_take_all_there_is_takes_nothing",),
    ),
    Mutation(
        "a restored index shows nothing later than the backup",
        "bot/operations/restore.py",
        ("    await index.roll_back(identity.generation)\n", ""),
        (f"{IDENTITY}::test_a_restore_goes_on_in_the_collection_that_it_began",),
    ),
    Mutation(
        "a start deletes what a killed backup left",
        "bot/app.py",
        ("            await asyncio.to_thread(sweep, settings.home)\n", ""),
        (f"{KILLED_BACKUP}_leave_is_deleted_by_whatever_comes_next",),
    ),
    Mutation(
        "a home or a backup in a folder with % or ? in its name",
        "bot/config/types.py",
        ("{str(file).replace('%', '%25').replace('?', '%3F')}", "{file}"),
        (f"{BACKUPS}::test_folders_may_be_called_what_stands_for_something_in_an_address",),
    ),
    Mutation(
        "questions of a clock that ran ahead slow nobody",
        "bot/store/usage.py",
        ('        turns.c.claimed_at < bindparam("until"),\n', ""),
        ("tests/bot/turns/test_budget.py::test_questions_of_a_clock_that_ran_ahead_slow_nobody",),
    ),
    Mutation(
        "the next backup deletes what a killed one left",
        "bot/operations/backup.py",
        ("        await asyncio.to_thread(sweep, settings.home, beside)\n", ""),
        (f"{KILLED_BACKUP}_leave_is_deleted_by_whatever_comes_next",),
    ),
    Mutation(
        "forgetting a person deletes what a killed backup left",
        "bot/cli/maintenance.py",
        ("        if left := await asyncio.to_thread(sweep, settings.home):\n", "        if left := ():\n"),
        (f"{KILLED_BACKUP}_leave_is_deleted_by_whatever_comes_next",),
    ),
    Mutation(
        "a backup under way is left alone",
        "bot/operations/copies.py",
        ("            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)\n            shutil", "            shutil"),
        ("tests/bot/operations/test_backup.py::test_a_backup_under_way_is_left_alone",),
    ),
    Mutation(
        "a backup has what answers are still to be held against",
        "bot/operations/backup.py",
        ("return await documents.listed(), await VectorStores(engine).listed(), await documents.kept()",
         "return (rows := await documents.listed()), await VectorStores(engine).listed(), {row.markdown for row in rows}"),
        (f"{BACKUPS}::test_what_answers_are_to_be_held_against_comes_back",),
    ),
    Mutation(
        "the old version dies with the new one's birth",
        EDGE,
        ('            await self._change(_living(document_id, before=at), {"died": at})\n', ""),
        (f"{KILLED}::test_a_search_finds_the_old_or_the_new_version_wherever_the_process_died",),
    ),
    Mutation(
        "kept Markdown is there whole or not at all",
        "bot/knowledge/content_store.py",
        ("            with replacing(path) as file:\n", '            with path.open("wb") as file:\n'),
        ("tests/bot/knowledge/test_content_store.py::test_what_cannot_be_written_whole_is_not_there",),
    ),
    Mutation(
        "kept Markdown that was cut off is written anew",
        "bot/knowledge/content_store.py",
        ("        if not path.exists() or path.read_bytes() != data:\n", "        if not path.exists():\n"),
        ("tests/bot/knowledge/test_content_store.py::test_a_file_that_was_cut_off_is_written_anew",),
    ),
    Mutation(
        "a file is on the disk before it has its name",
        "retrieval/durable.py",
        ("            file.flush()\n            os.fsync(file.fileno())\n", ""),
        ("tests/retrieval/test_durable.py::test_a_name_is_taken_when_the_contents_are_on_the_disk_and_the_folder_follows",),
    ),
    Mutation(
        "a name is on the disk with its folder",
        "retrieval/durable.py",
        ("    to_disk(path.parent)\n", ""),
        ("tests/retrieval/test_durable.py::test_a_name_is_taken_when_the_contents_are_on_the_disk_and_the_folder_follows",),
    ),
    Mutation(
        "a cancelled writer rolls back to the end",
        ENGINE,
        ("            await finished(_close(db))  # rolls", "            await _close(db)  # rolls"),
        (f"{CANCELLED}[rollback]",),
    ),
    Mutation(
        "a cancelled writer ends its statement",
        ENGINE,
        ("return await finished(super().execute(*args, **kwargs))", "return await super().execute(*args, **kwargs)"),
        (f"{CANCELLED}[before_cursor_execute]",),
    ),
    Mutation(
        "a cancelled writer ends its commit",
        ENGINE,
        ("                await finished(db.commit())\n", "                await db.commit()\n"),
        (f"{CANCELLED}[commit]",),
    ),
    # doubt and dates
    Mutation(
        "an unsure answer says so",
        "adapters/markdown/events.py",
        (' if answered.unsure and answered.outcome == "answered" else ""', ' if answered.text == "?" else ""'),
        (DOUBT_SHOWN, f"{SLACK}/test_golden.py", "tests/adapters/discord/test_golden.py"),
    ),
    Mutation(
        "an answer that nothing was found says no doubt on top",
        "adapters/markdown/events.py",
        ('answered.unsure and answered.outcome == "answered"', "answered.unsure"),
        (DOUBT_SHOWN,),
    ),
    Mutation(
        "a model's unsure answer is a miss",
        "bot/turns/turns.py",
        ("answer.unsure and not answer.verbatim", "False"),
        (MISSED,),
    ),
    Mutation(
        "an unsure answer without a model is no miss by itself",
        "bot/turns/turns.py",
        ("answer.unsure and not answer.verbatim", "answer.unsure"),
        (MISSED,),
    ),
    Mutation(
        "doubt is given again with the answer",
        "bot/store/conversations.py",
        ("        unsure=values[answers.c.unsure],\n", ""),
        (f"{DOUBTS}::test_doubt_is_stored_with_the_answer_and_counted_once",),
    ),
    Mutation(
        "three people, not three questions",
        "bot/unanswered/doubts.py",
        ("if len({one.asker for one in group}) >= ALIKE", "if len(group) >= ALIKE"),
        (f"{DOUBTS}::test_three_people_who_ask_alike_make_it_a_miss",),
    ),
    Mutation(
        "what becomes a miss later is in the next digest",
        "bot/unanswered/doubts.py",
        ("(replace(one.miss, reopened_at=max(now, one.miss.asked_at)) for one in found)", "(one.miss for one in found)"),
        (f"{DOUBTS}::test_the_digest_after_it_became_a_miss_has_all_who_asked_before",),
    ),
    Mutation(
        "what a digest makes a miss is in it, and not in the next",
        "bot/app.py",
        ("doubts.gather(period.until - timedelta(microseconds=1))", "doubts.gather()"),
        (f"{DOUBTS}::test_a_digest_that_makes_them_misses_has_them_and_the_next_has_not",),
    ),
    Mutation(
        "what somebody has added is replaced by them or an editor",
        "bot/knowledge/documents.py",
        ("if known and not _may_replace(upload, known):", "if False:"),
        ("tests/bot/knowledge/test_ingestion.py::test_what_somebody_has_added_only_they_or_an_editor_replace",),
    ),
    Mutation(
        "who is no editor replaces nothing of others",
        "adapters/shared/ingestion.py",
        ("over=EVERYONE in scopes", "over=True"),
        ("tests/adapters/discord/test_ingestion.py::test_a_text_that_begins_like_somebody_elses_does_not_take_its_place",),
    ),
    Mutation(
        "what experts have answered is not moved away from them",
        "bot/knowledge/curation.py",
        ("    if collection == ANSWERS:\n", "    if False:\n"),
        ("tests/bot/knowledge/test_curation.py::test_what_experts_have_answered_stays_where_it_can_be_corrected",),
    ),
    Mutation(
        "a list in an answer comes back from a spreadsheet without apostrophes",
        "retrieval/loaders/tables.py",
        ("return _GUARD.sub", "return cell or _GUARD.sub"),
        ("tests/bot/unanswered/test_questions.py::test_what_is_added_from_such_a_file_is_what_was_written",),
    ),
    Mutation(
        "what was brought to a person late is in the next digest",
        "bot/unanswered/asking.py",
        ("                reopened_at=self.clock(),\n", ""),
        (f"{ASKING}::test_what_was_brought_to_a_person_late_is_in_the_digest_after",),
    ),
    Mutation(
        "a private question counts in its own place alone",
        "bot/unanswered/doubts.py",
        ("asked.setdefault(one.miss.scope, [])", 'asked.setdefault("", [])'),
        (f"{DOUBTS}::test_what_is_asked_in_a_private_place_counts_there_alone",),
    ),
    Mutation(
        "a complaint comes first in the digest",
        "bot/unanswered/digest.py",
        ("    groups.sort(key=urgency)", "    groups.sort(key=lambda group: -len(_turns(group)))"),
        ("tests/bot/unanswered/test_digest.py::test_the_digest_begins_with_what_somebody_complained_of",),
    ),
    Mutation(
        "thanks are no question that somebody was spared",
        "bot/store/digests.py",
        ("~down, _SEARCHED\n", "~down\n"),
        ("tests/bot/unanswered/test_digest.py::test_thanks_and_greetings_are_not_what_was_asked_most",),
    ),
    Mutation(
        "the time of adding is no date of a document",
        "retrieval/index/payload.py",
        ('payload.get(_DATE, "")', 'payload.get(_DATE, payload.get("updated", ""))'),
        ("tests/retrieval/loaders/test_dates.py::test_what_earlier_versions_stored_as_a_date_is_none",),
    ),
    Mutation(
        "a checkout's files have no date of their own",
        "retrieval/loaders/local_files.py",
        ('if any(folder.joinpath(".git").exists() for folder in path.parents):', "if False:"),
        (f"{LOCAL_FILES}::test_the_day_of_a_files_last_change_counts_outside_of_a_checkout",),
    ),
    Mutation(
        "what a document says of itself comes before what is known of it",
        "bot/knowledge/documents.py",
        ("document.date or upload.changed_at", "upload.changed_at or document.date"),
        ("tests/bot/knowledge/test_documents.py::test_a_document_has_its_own_date_or_none",),
    ),
    # a full disk
    Mutation(
        "full disk: nothing is written to the index",
        EDGE,
        ("        disk.require(room, self._folder, self._free)\n", ""),
        ("tests/retrieval/test_disk.py::test_the_disk_is_looked_at_before_each_slice",),
    ),
    Mutation(
        "full disk: nothing is added to the last bytes",
        EDGE,
        ("map(_point, points)]), room=disk.ROOM_TO_ADD)", "map(_point, points)]))"),
        ("tests/retrieval/test_disk.py::test_nothing_is_added_when_the_disk_is_nearly_full_and_it_is_said",),
    ),
    Mutation(
        "full disk: what is there can still be changed",
        EDGE,
        ("*, room: int = disk.RESERVE)", "*, room: int = disk.ROOM_TO_ADD)"),
        ("tests/retrieval/test_disk.py::test_what_is_there_can_be_taken_back_and_forgotten_when_no_more_is_added",),
    ),
    Mutation(
        "full disk: a home that cannot be written to is backed up",
        "bot/store/inspection.py",
        ('if _trouble(error) not in ("read_only", "full"):', "if True:"),
        (
            "tests/bot/operations/test_backup.py"
            "::test_a_home_on_a_disk_that_takes_nothing_is_backed_up_onto_another",
        ),
    ),
    Mutation(
        "full disk: a collection is moved with room for all",
        EDGE,
        (" * _PAYLOAD)\n", " * 0)\n"),
        ("tests/retrieval/test_disk.py::test_a_whole_collection_is_moved_only_with_room_for_all_of_it",),
    ),
    Mutation(
        "full disk: no index is opened",
        EDGE,
        ("        disk.require(disk.RESERVE, folder, free)\n", ""),
        ("tests/retrieval/test_disk.py::test_a_store_is_not_opened_without_room_and_nobody_is_locked_out",),
    ),
    Mutation(
        "full disk: readiness writes to the database",
        "bot/store/inspection.py",
        ('        await db.execute(text("UPDATE alembic_version SET version_num = version_num"))\n', "        pass\n"),
        ("tests/bot/store/test_engine.py::test_a_look_at_whether_it_takes_writes_really_writes",),
    ),
    # what an expert's answer teaches, to which questions, and who may change it
    Mutation(
        "teaching: an answer closes what says the same",
        "bot/unanswered/expert_answers.py",
        ("asked = [one for one in found.closes if", "asked = [one for one in (*found.closes, *found.others) if"),
        (f"{TAUGHT}::test_an_answer_closes_what_says_the_same_and_leaves_the_rest_of_its_group_open",),
    ),
    Mutation(
        "teaching: a form's ticks are kept",
        "adapters/discord/expert_answers.py",
        ("    return expert_answers.ticks(listed, [int(each)", "    return expert_answers.ticks([], [int(each)"),
        ("tests/adapters/discord/test_digest.py::test_what_an_answer_closes_is_chosen_by_hand",),
    ),
    Mutation(
        "a search knows its turn",
        "bot/turns/answerers.py",
        (", turn=claimed.id\n", "\n"),
        ("tests/bot/test_app.py::test_a_question_that_is_taken_back_takes_its_own_searches_with_it_alone",),
    ),
    Mutation(
        "nobody else's searches go with a question",
        "bot/store/searches.py",
        ("delete(searches).where(searches.c.turn.in_([row.id for row in asked]))", "delete(searches)"),
        ("tests/bot/test_app.py::test_a_question_that_is_taken_back_takes_its_own_searches_with_it_alone",),
    ),
    Mutation(
        "what is measured after its question was taken back has no words",
        "bot/store/searches.py",
        (', turns.c.deleted_at.is_(None))', ')'),
        (f"{WITHDRAWN}::test_what_is_measured_after_its_question_was_taken_back_has_no_words",),
    ),
    Mutation(
        "of an earlier search nobody can give to a turn the words go",
        "migrations/versions/0023_searches.py",
        ('if len(running) == 1 else {"query": ""}', 'if running else {}'),
        ("tests/bot/test_migrations.py::test_searches_of_earlier_versions_are_of_the_turn_that_ran_alone",),
    ),
    Mutation(
        "erasure: an id without a digit goes from what others wrote",
        "bot/store/erasure.py",
        ("(person.isupper() or any(map(str.isdigit, person)))", "any(map(str.isdigit, person))"),
        ("tests/bot/operations/test_retention.py::test_an_id_is_taken_from_what_others_wrote_a_word_is_not",),
    ),
    Mutation(
        "erasure: a card goes with the complaint on it",
        "bot/store/erasure.py",
        ("    _clear_cards(db, (), said_of, drawn=True)\n", ""),
        ("tests/bot/operations/test_retention.py::test_a_card_that_holds_their_complaint_loses_it_and_others_stay",),
    ),
    Mutation(
        "erasure: a card stays for the questions of others",
        "bot/store/erasure.py",
        ('        return not still.isdisjoint(card["questions"]) or', "        return"),
        ("tests/bot/operations/test_retention.py::test_a_card_stays_for_as_long_as_a_question_of_it_is_open",),
    ),
    Mutation(
        "retention: a card stays for as long as its question is open",
        "bot/store/erasure.py",
        ("(posts.c.at < before) & ~_offers)", "posts.c.at < before)"),
        ("tests/bot/operations/test_retention.py::test_a_card_stays_for_as_long_as_a_question_of_it_is_open",),
    ),
    Mutation(
        "teaching: an answer that comes too late is no question",
        "adapters/shared/expert_answers.py",
        ('    if not card.data["closed"] or _asks(text) or not may_answer(card, text):\n', "    if text:\n"),
        (
            "tests/adapters/slack/test_asking.py::test_an_answer_that_comes_too_late_is_no_question",
            "tests/adapters/discord/test_asking.py::test_an_answer_that_comes_too_late_is_no_question",
        ),
    ),
    Mutation(
        "feedback: a complaint opens what was resolved",
        "bot/store/feedback.py",
        ("questions.c.resolved_at < last)", "questions.c.resolved_at > last)"),
        ("tests/bot/turns/test_turns.py::test_a_complaint_about_a_report_that_was_resolved_opens_it_again",),
    ),
    Mutation(
        "teaching: what is unticked stays open",
        "bot/unanswered/closing.py",
        (" or (same and key not in unticked)", " or same"),
        (f"{TAUGHT}::test_what_an_answer_closes_can_be_chosen_by_hand",),
    ),
    Mutation(
        "teaching: no tick makes a private answer the team's",
        "bot/unanswered/closing.py",
        ("        ticked -= {", "        ticked -= set() and {"),
        (f"{TAUGHT}::test_no_choice_makes_a_private_answer_the_teams",),
    ),
    Mutation(
        "teaching: every part of a question counts",
        "bot/unanswered/paraphrases/paraphrases.py",
        (" or _said(ours) != _said(theirs):", ":"),
        (UNLIKE,),
    ),
    Mutation(
        "teaching: what is asked counts",
        "bot/unanswered/paraphrases/paraphrases.py",
        (" or ours.asked != theirs.asked", ""),
        (UNLIKE,),
    ),
    Mutation(
        "teaching: who does it, and to whom",
        "bot/unanswered/paraphrases/paraphrases.py",
        ("all(_fits(*pair, ours, theirs) for pair in pairs) and not", "not"),
        (UNLIKE,),
    ),
    Mutation(
        "teaching: what has changed places",
        "bot/unanswered/paraphrases/paraphrases.py",
        ("_turned(x, y, ours, theirs) for x, y in", "False for x, y in"),
        (UNLIKE,),
    ),
    Mutation(
        "teaching: what an answer is for is what was shown",
        "adapters/shared/expert_answers.py",
        ('            reference = asked.get("reference")\n', "            reference = None\n"),
        (f"{SLACK}/test_digest.py::test_a_card_goes_on_with_what_an_answer_leaves_open",),
    ),
    Mutation(
        "teaching: a card goes on with what is open",
        "adapters/shared/digest_cards.py",
        ("(not still and (asked or gone) and", "((asked or gone) and"),
        (f"{SLACK}/test_digest.py::test_a_card_goes_on_with_what_an_answer_leaves_open",),
    ),
    Mutation(
        "teaching: the same words after different questions are not closed together",
        "bot/unanswered/closing.py",
        ('"" if stands_alone(question) else question.turn', '""'),
        (f"{TAUGHT}::test_the_same_words_after_different_questions_do_not_ask_the_same",),
    ),
    Mutation(
        "teaching: the same words after different questions are not alike",
        "bot/unanswered/closing.py",
        ("(same and alone and stands_alone(one))", "same"),
        (f"{TAUGHT}::test_the_same_words_after_different_questions_do_not_ask_the_same",),
    ),
    Mutation(
        "teaching: the same words after different questions keep both answers",
        "bot/unanswered/expert_answers.py",
        ("leaning.get(normalise(wordings[0]), \"\")", '""'),
        (f"{TAUGHT}::test_the_same_words_after_different_questions_do_not_ask_the_same",),
    ),
    Mutation(
        "teaching: words that go on from another question are not what an answer is found by",
        "bot/unanswered/expert_answers.py",
        ("(alone or [*distinct.values()])", "[*distinct.values()]"),
        (f"{TAUGHT}::test_what_only_goes_on_from_another_question_is_no_wording_beside_a_better_one",),
    ),
    Mutation(
        "teaching: one question has one answer, whatever its words",
        "bot/unanswered/expert_answers.py",
        ("if leans(text) or not (is_same or wording(text) in known)", "if leans(text) or wording(text) not in known"),
        (f"{TAUGHT}::test_a_newer_answer_takes_the_place_of_one_that_was_found_by_other_words",),
    ),
    Mutation(
        "teaching: a newer answer takes no other question's answer along",
        "bot/unanswered/expert_answers.py",
        ("            if rest:\n                kept", "            if False:\n                kept"),
        (f"{TAUGHT}::test_what_an_older_answer_says_to_other_questions_stays",),
    ),
    Mutation(
        "teaching: a private answer takes no place of the team's",
        "bot/unanswered/expert_answers.py",
        ("readers, near = Readers(frozenset({scope})), set", "readers, near = Readers(frozenset({scope, TEAM})), set"),
        (f"{TAUGHT}::test_an_answer_takes_the_place_of_none_that_others_read",),
    ),
    Mutation(
        "teaching: no question is dismissed while its answer is being kept",
        "bot/unanswered/expert_answers.py",
        ("async with self._questions.answering.held():  # not while an answer to them is being kept", "if True:"),
        (f"{TAUGHT}::test_a_question_is_not_dismissed_while_its_answer_is_being_kept",),
    ),
    Mutation(
        "a digest that seldom comes looks back on all of its time",
        "bot/unanswered/digest_schedule.py",
        ("min(before, due - LONGEST)", "due - LONGEST"),
        (
            "tests/bot/unanswered/test_digest_schedule.py"
            "::test_a_period_reaches_back_to_the_last_one_sent_but_not_for_ever",
        ),
    ),
    Mutation(
        "teaching: an outage of minutes loses no notice",
        "bot/store/notifications.py",
        ("row.attempts >= TRIES and now - row.made_at > PATIENCE", "row.attempts >= TRIES"),
        ("tests/bot/store/test_outbox.py::test_what_can_never_be_said_is_dropped",),
    ),
    Mutation(
        "teaching: a notice that waited long is tried, too",
        "bot/store/notifications.py",
        ("row.attempts >= TRIES and now - row.made_at > PATIENCE", "now - row.made_at > PATIENCE"),
        ("tests/bot/store/test_outbox.py::test_what_nobody_could_try_to_say_for_long_is_tried",),
    ),
    Mutation(
        "teaching: the author is who wrote it",
        "bot/unanswered/expert_answers.py",
        ("    return lesson.author or lesson.actor.id\n", "    return lesson.actor.id\n"),
        (f"{TAUGHT}::test_whoever_wrote_the_answer_is_its_author_and_whoever_saved_it_stands_in_the_trace",),
    ),
    Mutation(
        "teaching: an answer is changed by who may",
        "bot/unanswered/corrections.py",
        ("if isinstance(row, DocumentRow) and not self.may_change(actor, row):", "if False:"),
        (f"{ANSWERS}::test_whoever_wrote_it_and_editors_may_change_it",),
    ),
    Mutation(
        "teaching: a private answer is changed where it is read",
        "bot/unanswered/corrections.py",
        ("self.documents.listed(readers, collection=ANSWERS)", "self.documents.listed(collection=ANSWERS)"),
        (f"{ANSWERS}::test_each_private_place_has_its_own_answer_to_take_back",),
    ),
    Mutation(
        "teaching: an answer that is gone asks again",
        "bot/store/documents.py",
        ("                reopen(db, document_ids, now)\n", "                pass\n"),
        (f"{ANSWERS}::test_an_answer_that_is_taken_back_asks_its_questions_again",),
    ),
    Mutation(
        "teaching: a copy of an answer is an answer",
        "bot/knowledge/collections.py",
        ("*(row.id for row in twins), copied=True)", "*(row.id for row in twins))"),
        (f"{ANSWERS}::test_an_answer_that_two_collections_have_is_still_there_when_they_are_merged",),
    ),
    Mutation(
        "teaching: what is open again is in the next digest",
        "bot/store/unanswered.py",
        ("func.coalesce(questions.c.reopened_at, questions.c.asked_at)", "questions.c.asked_at"),
        (f"{ANSWERS}::test_the_next_digest_has_what_is_open_again_however_old",),
    ),
    Mutation(
        "teaching: a correction is told once a thread",
        "bot/store/notifications.py",
        ("if corrects and not row.unsaid and tuple(row)[3:] in spots:", "if False:"),
        (f"{ANSWERS}::test_somebody_who_asked_twice_in_a_thread_is_told_once",),
    ),
    Mutation(
        "teaching: who was not told is not corrected",
        "bot/store/notifications.py",
        ('set_=values | {"corrects": being_said})', 'set_=values | {"corrects": corrects})'),
        (f"{ANSWERS}::test_who_was_not_told_yet_hears_the_corrected_answer_as_the_answer",),
    ),
    Mutation(
        "teaching: an edit that was cut short is told",
        "bot/unanswered/corrections.py",
        ('if verdict.status == "unchanged" and await self.audit.mentions(f"sha256:{now}"):', 'if verdict.status == "unchanged":'),
        (f"{ANSWERS}::test_an_edit_that_was_cut_short_and_is_made_again_ends_as_it_would_have",),
    ),
    Mutation(
        "teaching: what was changed meanwhile is not written over",
        "bot/unanswered/corrections.py",
        ("            if version and row.hash not in (version, now):\n", "            if False:\n"),
        (f"{CARD_REPLIES}::test_nothing_is_added_to_an_answer_that_was_changed_meanwhile",),
    ),
    Mutation(
        "teaching: an answer in several messages is one person's",
        "bot/unanswered/card_replies.py",
        ('        if one.get("by") != reply.author or ', "        if "),
        (f"{CARD_REPLIES}::test_what_somebody_else_wrote_between_is_not_mixed_in",),
    ),
    Mutation(
        "teaching: a question is no part of an answer",
        "bot/unanswered/card_replies.py",
        ("    return bool(QUESTION.search(text) or ", "    return bool("),
        ("tests/bot/unanswered/test_card_replies.py::test_what_belongs_to_an_answer",),
    ),
    Mutation(
        "teaching: what is declined is not saved with the next",
        "bot/unanswered/card_replies.py",
        ('        if "discarded" not in one:\n', "        if True:\n"),
        ("tests/bot/unanswered/test_card_replies.py::test_what_was_declined_is_left_out",),
    ),
    Mutation(
        "erasure: what was asked about their replies goes",
        "bot/store/erasure.py",
        ('        if row.data.get("by") == person:\n', "        if False:\n"),
        ("tests/bot/operations/test_retention.py::test_what_was_asked_about_their_replies_goes_and_others_stay",),
    ),
    # what a file may cost
    Mutation(
        "parser: memory",
        "retrieval/loaders/worker.py",
        ("(occupied + limits.memory, ", "(occupied + (1 << 40), "),
        ("tests/retrieval/loaders/test_worker.py::test_memory_is_bounded",),
    ),
    Mutation(
        "parser: processor time",
        "retrieval/loaders/worker.py",
        ("+ limits.cpu", "+ 600"),
        (f"{SLOW_FILE}[processor]",),
    ),
    Mutation(
        "parser: wall time",
        "retrieval/loaders/loader.py",
        ("asyncio.timeout(self._limits.wall)", "asyncio.timeout(600)"),
        (f"{SLOW_FILE}[wall]",),
    ),
    Mutation(
        "parser: no network, no programs",
        "retrieval/loaders/worker.py",
        ("    sys.addaudithook(_forbid)\n", ""),
        ("tests/retrieval/loaders/test_worker.py::test_the_parser_has_no_network_and_starts_nothing",),
    ),
    Mutation(
        "archive: sizes",
        "retrieval/loaders/archives.py",
        ("    _check_sizes(members, limits)\n", ""),
        ("tests/retrieval/loaders/test_archives.py",),
    ),
    Mutation(
        "archive: entities",
        "retrieval/loaders/archives.py",
        ('        raise FileRefused("entities")\n', "        pass\n"),
        ("tests/retrieval/loaders/test_archives.py",),
    ),
    Mutation(
        "local files: no link leads out of the folder",
        "retrieval/loaders/local_files.py",
        ("            if not real.is_relative_to(self._root):\n", "            if False:\n"),
        (f"{LOCAL_FILES}::test_no_link_leads_out_of_the_folder",),
    ),
    Mutation(
        "local files: what becomes a link is not followed",
        "retrieval/loaders/local_files.py",
        ("return os.open(last, flags | os.O_NOFOLLOW, dir_fd=folder)", "return os.open(last, flags, dir_fd=folder)"),
        (f"{LOCAL_FILES}::test_what_becomes_a_link_after_it_was_found_is_not_followed",),
    ),
    Mutation(
        "local files: no folder on the way becomes a link",
        "retrieval/loaders/local_files.py",
        ("os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd", "os.O_RDONLY | os.O_DIRECTORY, dir_fd"),
        (f"{LOCAL_FILES}::test_what_becomes_a_link_after_it_was_found_is_not_followed",),
    ),
    Mutation(
        "local files: no pipe keeps anybody waiting",
        "retrieval/loaders/local_files.py",
        ("                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):\n", "                if False:\n"),
        (f"{LOCAL_FILES}::test_what_becomes_a_link_after_it_was_found_is_not_followed",),
    ),
    Mutation(
        "file size",
        "retrieval/loaders/loader.py",
        ("            if len(data) > self._limits.file:\n", "            if len(data) < 0:\n"),
        ("tests/retrieval/loaders/test_loader.py",),
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
        "bot/config/settings.py",
        ("fields = (value for _, value in self if isinstance(value, SecretStr)", "fields = (value for _, value in () if value"),
        ("tests/bot/config/test_settings.py",),
    ),
    Mutation(
        "a person who is forgotten is in no file",
        "bot/store/erasure.py",
        ('                await db.execute(text("VACUUM"))\n', ""),
        ("tests/bot/operations/test_retention.py::test_no_file_holds_a_word_of_the_person",),
    ),
    Mutation(
        "retention: copies from before upgrades go, too",
        "bot/operations/retention.py",
        ("_drop_old_files, _copies(engine), before)", "_drop_old_files, [], before)"),
        ("tests/bot/operations/test_retention.py::test_old_copies_from_before_upgrades_go",),
    ),
    Mutation(
        "pairs whose move was cut short stay approved",
        "bot/qa_pairs/documents.py",
        ("scope=row.scope, document=None))", "scope=row.scope))"),
        ("tests/bot/qa_pairs/test_pairs.py::test_pairs_whose_move_was_cut_short_stay_approved",),
    ),
    Mutation(
        "a line of the chat log that was cut off goes with a person",
        "bot/operations/retention.py",
        ("if entry and entry.get", "if entry.get"),
        (LOG_LINE,),
    ),
    Mutation(
        "readiness: a search model that cannot be loaded is looked for at the start",
        "bot/cli/commands.py",
        ("            await stack.enter_async_context(aside(app.watch_embedder()))\n", ""),
        ("tests/bot/cli/test_run.py::test_a_search_model_that_cannot_be_loaded_is_said_before_anybody_asks",),
    ),
    Mutation(
        "readiness: a search model that cannot be loaded is said",
        "bot/app.py",
        ('found["embedder"] = Trouble(', 'found.get("embedder", Trouble)('),
        ("tests/adapters/web/api/test_streaming.py::test_readiness_names_what_does_not_work",),
    ),
    Mutation(
        "database: nobody waits longer for having others before them",
        "bot/store/engine.py",
        ("    return most + (file.refused if file else 0)\n", "    return most + 1_000_000\n"),
        ("tests/bot/store/test_engine.py::test_those_who_wait_behind_a_writer_that_is_kept_out_give_up_with_it",),
    ),
    Mutation(
        "readiness: a database that another program has locked is said at once",
        "bot/store/inspection.py",
        ("    refuse_kept_out(engine)\n", ""),
        ("tests/bot/store/test_engine.py::test_those_who_wait_behind_a_writer_that_is_kept_out_give_up_with_it",),
    ),
    Mutation(
        "retention: a clock that leaps deletes nothing",
        "bot/operations/retention.py",
        ("        if seen.doubted_at is None:\n", "        if True:\n"),
        ("tests/bot/operations/test_retention.py::test_a_clock_that_leaps_deletes_nothing_until_it_has_stood_by_it",),
    ),
    Mutation(
        "retention: the first look at a clock is a doubt",
        "bot/store/retention_clock.py",
        ("goes_on = believed_at is not None and at - believed_at <= STEP", "goes_on = believed_at is None or at - believed_at <= STEP"),
        ("tests/bot/operations/test_retention.py::test_a_home_that_never_looked_at_its_clock_begins_with_a_doubt",),
    ),
    Mutation(
        "migrations: an upgrade that fails again and again leaves one copy",
        "migrations/__init__.py",
        ("        if copied != backup:\n", "        if False:\n"),
        ("tests/bot/test_migrations.py::test_an_upgrade_that_fails_at_each_start_leaves_one_copy",),
    ),
    Mutation(
        "migrations: a copy that was cut off goes",
        "migrations/__init__.py",
        ("    finally:\n        partial.unlink(missing_ok=True)\n", "    finally:\n        pass\n"),
        ("tests/bot/test_migrations.py::test_a_copy_that_finds_no_room_leaves_nothing_in_the_way",),
    ),
    Mutation(
        "run: a terminal that closes lets it end in order",
        "adapters/web/server/server.py",
        ("(() if ignored else (signal.SIGHUP,))", "()"),
        ("tests/bot/cli/test_one_owner.py::test_it_stops_when_it_is_told_to",),
    ),
    Mutation(
        "a collection is moved by the ids of its points, which a log that is gone through again finds again",
        "retrieval/index/edge.py",
        ('set_payload(ids, {"collection": into})', 'set_payload_by_filter(which, {"collection": into})'),
        (
            "tests/retrieval/index/test_index.py"
            "::test_a_collection_that_was_moved_is_whole_where_the_flush_after_it_was_cut_short",
        ),
    ),
    Mutation(
        "index: files that were deleted under it are no health",
        "retrieval/index/edge.py",
        ("            await self._run(self._require_still)\n", ""),
        ("tests/retrieval/index/test_index.py::test_a_store_that_was_deleted_while_it_is_open_is_not_healthy",),
    ),
    Mutation(
        "database: a file that is gone is said",
        "bot/store/engine.py",
        ("            raise StoreError(_GONE)\n", "            return\n"),
        ("tests/bot/store/test_engine.py::test_a_file_that_was_moved_away_while_it_is_open_is_said",),
    ),
    Mutation(
        "database: nothing is stored in a file that was replaced",
        "retrieval/durable.py",
        ("return os.path.samestat(path.stat(), opened)", "return path.exists()"),
        (
            "tests/bot/store/test_engine.py::test_nothing_is_stored_in_a_file_that_another_was_put_in_the_place_of",
            "tests/retrieval/index/test_index.py::test_nothing_is_added_to_a_store_that_another_was_put_in_the_place_of",
        ),
    ),
    Mutation(
        "index: nothing is added to files that were replaced",
        "retrieval/index/edge.py",
        ("        self._require_still()\n        disk.require(room", "        disk.require(room"),
        ("tests/retrieval/index/test_index.py::test_nothing_is_added_to_a_store_that_another_was_put_in_the_place_of",),
    ),
    Mutation(
        "index: passages that cannot be read are no health",
        "retrieval/index/edge.py",
        ("self._run(lambda: self._shard.scroll(one))", "self._run(self._shard.info)"),
        ("tests/retrieval/index/test_index.py::test_a_store_whose_passages_cannot_be_read_is_not_healthy",),
    ),
    # who may read what lies in the home
    Mutation(
        "home: what an earlier version left open is closed",
        "bot/config/home.py",
        ("            if path.stat().st_uid == os.geteuid()", "            if False and path.stat().st_uid == os.geteuid()"),
        (f"{HOME}::test_a_start_closes_an_open_home_and_makes_nothing_that_others_read",),
    ),
    Mutation(
        "home: folders with others' files stay as they are",
        "bot/config/home.py",
        ("(not path.is_dir() or _is_ours(path))", "True"),
        (f"{HOME}::test_a_folder_with_anything_else_in_it_stays_as_it_is_and_is_named",),
    ),
    Mutation(
        "home: new folders are for their owner only",
        "retrieval/durable.py",
        ("    folder.mkdir(mode=0o700, exist_ok=True)\n", "    folder.mkdir(exist_ok=True)\n"),
        (f"{HOME}::test_a_start_closes_an_open_home_and_makes_nothing_that_others_read",),
    ),
    Mutation(
        "full disk: readiness writes to the home",
        "bot/config/home.py",
        ("        file.write(_BLOCK)\n", "        pass\n"),
        (f"{HOME}::test_a_home_that_takes_no_write_is_said",),
    ),
    # a channel by its name
    Mutation(
        "one name of several channels is refused",
        "adapters/shared/channels.py",
        ("    if len(same) == 1 or len(inside) == 1:\n", "    if same:\n"),
        ("tests/adapters/shared/test_channels.py",),
    ),
    Mutation(
        "Slack: all pages of channels are read",
        "adapters/slack/transport/channel_names.py",
        ('        if not arguments["cursor"]:\n', "        if True:\n"),
        (f"{SLACK}/setup/test_check.py::test_a_channel_may_be_named",),
    ),
    Mutation(
        "Slack: archived channels have no names",
        "adapters/slack/transport/channel_names.py",
        ('"exclude_archived": "true", ', ""),
        (f"{SLACK}/setup/test_check.py::test_a_channel_that_cannot_have_the_digest",),
    ),
    Mutation(
        "the digest is posted where its name leads",
        "adapters/runner.py",
        ("adapter.announce(to.place.channel, card", "adapter.announce(channel, card"),
        (f"{SLACK}/test_digest.py::test_the_digest_goes_to_a_channel_by_its_name",),
    ),
    # what a set-up leaves alone
    Mutation(
        "setup: documents' text goes to Google only when somebody says so",
        "adapters/setup/platforms.py",
        ("wizard.agrees(_EMBEDDINGS, False)", "wizard.agrees(_EMBEDDINGS, True)"),
        ("tests/adapters/setup/test_platforms.py::test_nothing_more_leaves_the_machine_unless_somebody_says_so",),
    ),
    Mutation(
        "doctor: a licence that forbids commercial use is named",
        "bot/doctor/services.py",
        ("if reranking.non_commercial(licence):", "if False:"),
        ("tests/bot/doctor/test_doctor.py::test_a_reranker_that_may_not_be_used_commercially",),
    ),
    Mutation(
        "doctor: what a judge of another provider is sent is said",
        "bot/doctor/services.py",
        ("        remarks.append(fine(filled(_SENT_TO_JUDGE, name=name)))\n", "        pass\n"),
        ("tests/bot/doctor/test_doctor.py::test_a_judge_of_another_provider_and_what_it_is_sent",),
    ),
    Mutation(
        "a revision that is none leaves the draft",
        "agent/run.py",
        ("        if lost:\n", "        if False:\n"),
        ("tests/agent/strategies/test_react.py::test_a_revision_that_is_no_answer_leaves_the_draft_and_is_not_sure",),
    ),
    Mutation(
        "a channel of thoughts is no answer",
        "agent/models/openai_stream.py",
        ('for channel in ("analysis", "commentary")', 'for channel in ("commentary",)'),
        ("tests/agent/models/test_openai.py::test_thinking_inside_the_text_is_no_part_of_it",),
    ),
    Mutation(
        "what a template writes behind a reply is no answer",
        "agent/models/openai_stream.py",
        ('_TURN_END.sub("", text)', "text"),
        ("tests/agent/models/test_openai.py::test_thinking_inside_the_text_is_no_part_of_it",),
    ),
    Mutation(
        "a form that was asked for is found in the thinking",
        "agent/models/openai.py",
        ("                reply.find_in_thoughts()\n", "                pass\n"),
        ("tests/agent/models/test_openai.py::test_a_form_that_comes_as_thinking_is_the_reply",),
    ),
    Mutation(
        "calls that a server does not take back are told as text",
        "agent/models/openai.py",
        ('declared = () if "own" in self._refused else ', "declared = "),
        (
            "tests/agent/models/test_openai.py"
            "::test_a_call_that_a_server_does_not_take_back_is_told_as_text_and_tools_are_offered_on",
        ),
    ),
    Mutation(
        "a model that is not there is not asked again in a simpler form",
        "agent/models/openai.py",
        (" or _NOT_THERE.search(complaint.message))", ")"),
        ("tests/agent/models/test_openai_failures.py::test_out_of_order",),
    ),
    Mutation(
        "markup around the name of a tool is no answer",
        "agent/tool_calls.py",
        ('[\\[{<]", text)', '[\\[{]", text)'),
        ("tests/agent/test_tool_calls.py::test_half_a_call_is_neither",),
    ),
    Mutation(
        "a conversation that is too long is not asked again",
        "agent/models/base.py",
        ("        if self.overlong:\n", "        if False:\n"),
        ("tests/agent/models/test_openai_failures.py::test_what_is_too_long_to_read_is_not_asked_again_and_said",),
    ),
    Mutation(
        "a reply that has begun is not asked for in a simpler form",
        "agent/models/openai.py",
        ("less = None if begun else ", "less = "),
        (
            "tests/agent/models/test_openai_failures.py"
            "::test_a_request_refused_within_the_stream_is_made_simpler_unless_the_reply_has_begun",
        ),
    ),
    Mutation(
        "an answer in a fence is found",
        "agent/reflection.py",
        ("    text = _unwrapped(text)\n", ""),
        ("tests/agent/test_reflection.py::test_what_a_draft_says_of_itself",),
    ),
    Mutation(
        "thinking that eats the output ends after two tries",
        "agent/models/openai.py",
        ("                if again:\n", "                if again and not tools:\n"),
        ("tests/agent/models/test_openai_failures.py", "tests/agent/models/test_openai.py"),
    ),
    Mutation(
        "a search goes on when the reranker fails",
        "retrieval/search.py",
        ("        except RerankingError as error:\n", "        except ZeroDivisionError as error:\n"),
        ("tests/retrieval/test_search.py::test_a_reranker_that_fails_leaves_the_order",),
    ),
    Mutation(
        "Slack: that an app is of a whole organisation is said",
        "adapters/slack/setup/check.py",
        ("    if bot.whole_org:\n", "    if False:\n"),
        ("tests/adapters/slack/setup/test_check.py::test_an_app_of_a_whole_organisation_is_told_that_nobody_is_of_the_team",),
    ),
    Mutation(
        "setup: the manifest goes over no other file",
        "adapters/slack/setup/app_creation.py",
        ("        if other and not (wizard.asks", "        if False and not (wizard.asks"),
        ("tests/adapters/setup/test_platforms.py::test_the_manifest_goes_where_a_flag_says_and_over_nothing",),
    ),
    Mutation(
        "setup: no browser opens where nobody is, or needs one",
        "adapters/slack/setup/app_creation.py",
        ("    opened = wizard.asks and not made and terminal.open", "    opened = terminal.open"),
        ("tests/adapters/setup/test_platforms.py::test_the_page_is_opened_where_there_is_a_browser",),
    ),
    Mutation(
        "Slack: a conversation keeps the name of its first question",
        "adapters/slack/turn_view.py",
        ("        begins = claimed.message.thread == claimed.message.message\n", "        begins = True\n"),
        (f"{SLACK}/test_home.py::test_a_conversation_begins_with_a_suggestion_and_is_named_by_its_question",),
    ),
    Mutation(
        "Slack: a turn is shown at work when another one ends in its thread",
        "adapters/slack/turn_view.py",
        ("            self._slack.signs_ended(self._place.channel, self._thread)\n", ""),
        (f"{SLACK}/test_sessions.py::test_of_two_turns_in_a_thread_the_last_one_ends_the_session",),
    ),
    Mutation(
        "Slack: only whoever asked stops an answer",
        "bot/store/turns.py",
        ("if row.author == author and _age", "if _age"),
        (f"{SLACK}/test_sessions.py::test_only_whoever_asked_stops_it",),
    ),
    Mutation(
        "Slack: what is asked after a stop is answered",
        "bot/store/turns.py",
        (" and _age(row.message) <= _age(until)]", "]"),
        (f"{SLACK}/test_sessions.py::test_each_stops_what_they_asked_and_nothing_that_they_asked_since",),
    ),
    Mutation(
        "Slack: a stop is kept before it is acknowledged",
        "bot/turns/turns.py",
        ("        stopped = await self._inbox.stop(place, thread, author, until=until, note=note)", "        stopped = Stopped()"),
        (f"{SLACK}/test_sessions.py::test_a_stop_outlives_the_process_that_took_it",),
    ),
    Mutation(
        "Slack: a session ends before its answer comes",
        "adapters/slack/turn_view.py",
        ("asyncio.gather(self._end_session(IDLE_SECONDS), self._steps.make_way(answered.seconds))", "self._steps.make_way(answered.seconds)"),
        (f"{SLACK}/test_sessions.py::test_a_session_ends_before_the_answer_comes_so_none_is_left_by_a_process_that_dies_then",),
    ),
    Mutation(
        "Slack: a status that does not arrive is made up for, whatever session there is",
        "adapters/slack/turn_view.py",
        ("return self._status_failed and await session", "return await session"),
        (f"{SLACK}/test_sessions.py::test_a_status_that_does_not_arrive_is_made_up_for_whatever_session_there_is",),
    ),
    Mutation(
        "Slack: a session without a button stands beside no status",
        "adapters/slack/transport/api.py",
        ("        if self._sessions.buttonless and not", "        if False and not"),
        (f"{SLACK}/test_sessions.py::test_where_slack_shows_no_button_a_session_is_begun_only_for_want_of_a_status",),
    ),
    Mutation(
        "Slack: whoever takes up a turn ends its session",
        "adapters/slack/turn_view.py",
        ("None if claimed.retaken else False", "False"),
        (f"{SLACK}/test_sessions.py::test_whoever_takes_up_what_a_killed_process_left_ends_its_session",),
    ),
    Mutation(
        "Slack: a deleted question names no conversation",
        "adapters/slack/turn_view.py",
        ("        if self._title:\n            with suppress(RefusedError", "        if False:\n            with suppress(RefusedError"),
        (f"{SLACK}/test_sessions.py::test_a_deleted_question_leaves_no_session_at_work_and_no_name",),
    ),
    Mutation(
        "Slack: an app without sessions is asked for them once",
        "adapters/slack/transport/sessions.py",
        ("                self._offered = False\n", "                pass\n"),
        (f"{SLACK}/test_sessions.py::test_without_sessions_it_is_as_before_after_one_call",),
    ),
    Mutation(
        "Slack: the names of channels ask for no scope that is missing",
        "adapters/slack/transport/channel_names.py",
        ("if not scopes or scope in scopes]", "if True]"),
        (f"{SLACK}/setup/test_check.py::test_without_the_scope_for_private_channels_public_ones_have_names",),
    ),
    # Slack: taken once, acknowledged when it is kept
    Mutation(
        "Slack: claimed before it is acknowledged",
        "adapters/slack/adapter.py",
        (
            "                await self._take(seen(body, us), context, questions, around)\n",
            '                context.tasks.start(self._take(seen(body, us), context, questions, around), "late")\n',
        ),
        (f"{SLACK}/test_chaos.py::test_nothing_is_acknowledged_before_it_is_kept",),
    ),
    Mutation(
        "Slack: what is not stored is not acknowledged",
        "adapters/slack/transport/dispatch.py",
        ("if response.status not in (200, NOT_STORED):", "if response.status != 200:"),
        (f"{SLACK}/transport/test_socket_mode.py::test_what_could_not_be_stored_is_not_acknowledged_and_comes_again",),
    ),
    Mutation(
        "Slack: whatever comes is acknowledged",
        "adapters/slack/transport/dispatch.py",
        ("        return BoltResponse(status=200)\n    return response", "        return BoltResponse(status=NOT_STORED)\n    return response"),
        (f"{SLACK}/transport/test_socket_mode.py::test_whatever_comes_is_acknowledged_once",),
    ),
    Mutation(
        "Slack: no connection without a hello",
        "adapters/slack/transport/socket_mode.py",
        ("                if client.greeted:\n", "                if True:\n"),
        (f"{SLACK}/transport/test_socket_mode.py::test_a_connection_without_a_hello_is_none_and_is_given_up",),
    ),
    Mutation(
        "Slack: what a process left is taken up",
        "adapters/shared/recovery.py",
        ("        await questions()\n", ""),
        (SLACK_KILLED,),
    ),
    Mutation(
        "Slack: the words of a link are kept",
        "adapters/slack/events.py",
        ('return f"{label} ({address})"', "return address"),
        (f"{SLACK}/test_events.py::test_text_reads_as_people_see_it",),
    ),
    Mutation(
        "Slack: an address ends where it did",
        "adapters/slack/events.py",
        ('(" " if match.string[match.end() : match.end() + 1].isalnum() else "")', '""'),
        (f"{SLACK}/test_events.py::test_text_reads_as_people_see_it",),
    ),
    Mutation(
        "Slack: bots are not answered",
        "adapters/slack/events.py",
        ('    if event.get("bot_id") or event.get("bot_profile") or', "    if"),
        (f"{SLACK}/test_events.py::test_what_no_person_says_starts_nothing",),
    ),
    Mutation(
        "Slack: what is forwarded in a channel is neither asked nor context",
        "adapters/slack/events.py",
        ("    if not _direct(event):\n        return []\n", ""),
        (
            f"{SLACK}/test_events.py::test_a_direct_message_that_only_forwards_another_asks_what_that_says",
            f"{SLACK}/test_audience.py::test_what_is_forwarded_with_a_direct_question_is_what_it_is_about",
        ),
    ),
    # Slack: said once
    Mutation(
        "Slack: the SDK does not send again by itself",
        "adapters/slack/transport/api.py",
        ("base_url=base_url or API, retry_handlers=[], logger=_sdk)", "base_url=base_url or API, logger=_sdk)"),
        (f"{SLACK}/transport/test_idempotency.py::test_a_lost_answer_makes_no_second_message", f"{SLACK}/transport/test_api.py"),
    ),
    Mutation(
        "Slack: what may have arrived is looked for",
        "adapters/slack/transport/idempotency.py",
        ("        if ts := await _found(find, mark):\n            return ts\n        if wait", "        if wait"),
        (f"{SLACK}/transport/test_idempotency.py::test_a_lost_answer_makes_no_second_message",),
    ),
    Mutation(
        "Slack: what a dead process may have sent is looked for",
        "adapters/slack/transport/idempotency.py",
        ("    if maybe_sent and mark and (ts := await _found(find, mark)):\n        return ts\n", ""),
        (SLACK_KILLED,),
    ),
    Mutation(
        "Slack: what is to be said is written down first",
        "adapters/slack/turn_view.py",
        ("        before = await self._bot.outbox.reserve(post)\n", "        before = None\n"),
        (SLACK_KILLED,),
    ),
    Mutation(
        "Slack: a rate limit is waited for",
        "adapters/slack/transport/api_call.py",
        ("                    self.pacer.pause(method, channel, seconds)\n", ""),
        (f"{SLACK}/transport/test_api.py::test_a_rate_limit_is_waited_for_exactly",),
    ),
    # Slack: steps above, answer below
    Mutation(
        "Slack: nothing begins below an answer",
        "adapters/slack/rendering/steps.py",
        ("                await self._writer.until(self._in_view, queued + IN_VIEW_SECONDS)\n        self._turn.opening.drop()\n",
         "                await self._writer.until(self._in_view, queued + IN_VIEW_SECONDS)\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: an answer waits for its steps",
        "adapters/slack/rendering/steps.py",
        ("                await self._writer.until(self._in_view, queued + IN_VIEW_SECONDS)\n", "                pass\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: what was never sent is not looked for",
        "adapters/slack/rendering/step_message.py",
        ("self._unsent = before is None and not self.stray", "self._unsent = False"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: where many wait an answer does without its steps",
        "adapters/slack/rendering/steps.py",
        ("if queued <= BUSY_SECONDS:", "if True:"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: what is below an answer is taken away",
        "adapters/slack/rendering/steps.py",
        ("if each.ts and _moment(each.ts) > _moment(answer)]", "if False]"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: what began without our knowing is taken away",
        "adapters/slack/rendering/steps.py",
        ("            if each.stray:\n", "            if False:\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: a turn that is over needs no sign of life",
        "adapters/slack/rendering/steps.py",
        ("            self._turn.opening.drop()  # nobody needs", "            pass  # nobody needs"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: steps hurry when their answer waits",
        "adapters/slack/rendering/steps.py",
        ("            self._turn.opening.hurry()\n", "            pass\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: an obsolete edit is not waited for",
        "adapters/slack/rendering/steps.py",
        ("        self._turn.growing.drop()  # the last write says it all\n", ""),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: steps that too many are in front of are left out",
        "adapters/slack/rendering/steps.py",
        ("            if queued <= BUSY_SECONDS:\n", "            if True:\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: no message of steps is replaced under an answer",
        "adapters/slack/rendering/steps.py",
        ("        if self._turn.opening.dropped and self._of(old):\n", "        if False:\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: no turn begins again under its answer",
        "adapters/slack/rendering/steps.py",
        ("        if has_answer(posts):\n", "        if False:\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: a sign that nobody noted is found",
        "adapters/slack/rendering/steps.py",
        ("            if not post.message and post.part not in opened:\n", "            if False:\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: what cannot be deleted is done",
        "adapters/slack/rendering/steps.py",
        ("            await take_away(self._turn, ts, _DONE.to(self._language))\n", "            pass\n"),
        (f"{SLACK}/test_order.py",),
    ),
    Mutation(
        "Slack: the last write is tried again",
        "adapters/slack/rendering/steps.py",
        ("            if await self._write_parts(last) or not last:\n", "            if await self._write_parts(last) or True:\n"),
        (f"{SLACK}/test_order.py",),
    ),
    # cards: what is an answer, and what a message to be added
    Mutation(
        "Slack: a mention under a card answers it",
        "adapters/slack/adapter.py",
        ("                if not await _answers_card(context, message, stranger):\n", "                if True:\n"),
        (f"{SLACK}/test_digest.py::{_MENTION_UNDER_CARD}",),
    ),
    Mutation(
        "Slack: an edited answer to a card is no question",
        "adapters/slack/adapter.py",
        ("if not answers and not (addressed and not known and await _answers_card(context, message, stranger)):", "if True:"),
        (f"{SLACK}/test_digest.py::{_MENTION_UNDER_CARD}",),
    ),
    Mutation(
        "Slack: whoever teaches nothing is answered under a card",
        "adapters/shared/expert_answers.py",
        ('    return (await actor()).role != "outsider"\n', "    return True\n"),
        (f"{SLACK}/test_digest.py::{_MENTION_UNDER_CARD}",),
    ),
    Mutation(
        "Slack, Discord: words around a link are not the document",
        "adapters/shared/ingestion.py",
        ("    if len(found) > 1 or len(around) > AROUND:\n", "    if len(found) > 1:\n"),
        ("tests/adapters/shared/test_ingestion.py",),
    ),
    Mutation(
        "Slack, Discord: a text that is asked for stays one",
        "adapters/shared/ingestion.py",
        ("if not found or (as_text and (around or len(found) > 1)):", "if not found:"),
        ("tests/adapters/shared/test_ingestion.py",),
    ),
    Mutation(
        "Slack, Discord: what an editor gives where outsiders may read is no team's by itself",
        "adapters/shared/ingestion.py",
        ("    if not wanted.scope and not reaches_team(audience):", "    if False:"),
        (f"{SLACK}/test_commands.py::test_what_an_editor_gives_for_a_private_channel_is_never_the_team_s_by_itself",),
    ),
    Mutation(
        "an answer that stands is not taken away because nobody can tell who reads it",
        "bot/turns/turns.py",
        ("        if hidden and message.audience == UNKNOWN:\n", "        if False:\n"),
        ("tests/bot/test_bot.py::test_an_answer_waits_while_nobody_can_tell_who_reads_it_now",),
    ),
    Mutation(
        "a digest waits until its readers are known",
        "adapters/runner.py",
        ("    if to.audience == UNKNOWN:\n", "    if False:\n"),
        (f"{SLACK}/test_digest.py::test_a_digest_waits_while_nobody_can_tell_who_would_read_it",),
    ),
    Mutation(
        "a card stays open while its readers are not known",
        "adapters/shared/digest_cards.py",
        (" and audience != UNKNOWN)", ")"),
        (f"{SLACK}/test_digest.py::test_a_card_is_not_closed_because_nobody_can_tell_who_reads_it",),
    ),
    # a question that is edited or deleted after its answer
    Mutation(
        "an edited question is answered again a few times",
        "bot/store/turns.py",
        ("row.edits >= EDITS", "False"),
        (f"{CONFORMANCE}::test_edits_are_followed_a_few_times_and_the_last_one_says_so",),
    ),
    Mutation(
        "an edit that says the same changes nothing",
        "bot/store/turns.py",
        ("if _wording(row.text) == _wording(message.text) and", "if False and"),
        (f"{CONFORMANCE}::test_an_edit_that_says_the_same_changes_nothing",),
    ),
    Mutation(
        "a question whose mention was taken out and put in again is answered",
        "bot/store/turns.py",
        (" and (is_open or db.scalar(select(posted(row.id)))):", ":"),
        ("tests/adapters/shared/test_turns.py::test_a_question_that_was_none_for_a_while_is_answered",),
    ),
    Mutation(
        "votes and misses are of an answer that is there",
        "bot/store/erasure.py",
        ("sources, feedback, questions, notices, refusals):", "sources, notices, refusals):"),
        (f"{CONFORMANCE}::test_a_question_that_is_edited_later_is_answered_again_in_the_place_of_the_old_answer",),
    ),
    Mutation(
        "the words of a deleted question are not kept",
        "bot/store/turns.py",
        ('left = {"text": "", "author": "", "link": None, ', "left = {"),
        (f"{CONFORMANCE}::test_a_deleted_question_goes_with_its_answer_and_all_that_is_known_of_it",),
    ),
    Mutation(
        "the searches of a deleted question are not kept",
        "bot/store/turns.py",
        ("            forget_searches(db, [row])\n", ""),
        (f"{CONFORMANCE}::test_a_deleted_question_goes_with_its_answer_and_all_that_is_known_of_it",),
    ),
    Mutation(
        "the searches of an edited question have no words of before",
        "bot/store/turns.py",
        ("            empty_queries(db, row.id)\n", ""),
        ("tests/bot/store/test_withdrawal.py::test_the_words_of_an_edited_question_leave_the_log_of_searches",),
    ),
    Mutation(
        "what is still posted of a deleted question is taken away by the next process",
        "adapters/shared/turns.py",
        (
            "        for deleted in await self.bot.turns.deleted(self.platform):\n            await self._clear(deleted)\n",
            "",
        ),
        (f"{CONFORMANCE}::test_what_a_process_left_of_a_deleted_question_is_taken_away_by_the_next",),
    ),
    Mutation(
        "work on a question ends once that is taken back",
        "adapters/shared/turns.py",
        ("ended = await self._end(deleted.message)", "ended = None"),
        (f"{CONFORMANCE}::test_a_question_deleted_while_it_runs_leaves_nothing",),
    ),
    Mutation(
        "what a platform tells once is tried until the database takes it",
        "bot/waiting.py",
        ("            log.error(\"what is told only once could not be stored; trying again: %s\", error)\n", "            raise\n"),
        (f"{CONFORMANCE}::test_what_a_platform_tells_once_is_not_lost_while_the_database_takes_nothing",),
    ),
    Mutation(
        "what Slack does not send again is tried on",
        "adapters/slack/adapter.py",
        ('request.headers.get("x-slack-retry-num") == [LAST_RETRY]', "False"),
        (
            "tests/adapters/slack/test_adapter.py::test_what_slack_sends_for_the_last_time_is_tried_until_the_database_takes_it",
        ),
    ),
    Mutation(
        "a deleted question is acknowledged to Slack once that is stored",
        "adapters/slack/adapter.py",
        (
            "                await questions.delete(message)\n",
            "                context.tasks.start(questions.delete(message), \"slack-delete\")\n",
        ),
        (f"{CONFORMANCE}::test_what_a_platform_tells_once_is_not_lost_while_the_database_takes_nothing",),
    ),
    Mutation(
        "the embedded store: what was written is on the disk before it counts as written",
        "retrieval/index/edge.py",
        ("        self._unsaved = True\n", ""),
        (
            "tests/retrieval/index/test_index.py"
            "::test_what_has_changed_is_brought_to_the_disk_and_what_has_not_waits_for_none",
        ),
    ),
    Mutation(
        "the embedded store: searches that were given up take nobody's turn",
        "retrieval/index/edge.py",
        ("                self._waiting.remove(search)\n", "                pass\n"),
        ("tests/retrieval/index/test_index.py::test_searches_that_were_given_up_take_nobodys_turn",),
    ),
    Mutation(
        "the embedded store: what is left of a copy that was given up goes",
        "retrieval/index/edge.py",
        ("            await self._run(partial(put_back, self._store))\n", ""),
        ("tests/retrieval/index/test_index.py::test_a_copy_that_was_cut_short_is_made_anew",),
    ),
    Mutation(
        "the embedded store: what is gone does not stay for ever",
        "retrieval/index/edge.py",
        ("            await self._compact()\n", ""),
        ("tests/retrieval/index/test_index.py::test_what_is_there_is_copied_once_more_is_gone",),
    ),
    Mutation(
        "the embedded store: one that is about to be replaced is there after a crash",
        "retrieval/index/edge.py",
        ("        put_back(shard)\n        if not shard.exists():\n", "        if not shard.exists():\n"),
        ("tests/retrieval/index/test_index.py::test_a_store_of_which_the_replacing_was_cut_short_is_there",),
    ),
    Mutation(
        "the embedded store: it is not copied where the disk has no room for two",
        "retrieval/index/edge.py",
        ("        disk.require(disk.RESERVE + occupied(self._store), self._folder, self._free)\n", ""),
        ("tests/retrieval/index/test_index.py::test_without_room_on_the_disk_a_store_is_not_copied",),
    ),
    Mutation(
        "a person who is forgotten is not quoted in the steps of others' follow-ups",
        "bot/store/erasure.py",
        ("        unquote(db, question, now)\n", "        pass\n"),
        (
            "tests/bot/store/test_withdrawal.py"
            "::test_a_question_that_is_taken_back_leaves_the_steps_of_those_after_it_that_quote_it",
        ),
    ),
    Mutation(
        "an answer that replaces another one says so",
        "adapters/shared/turns.py",
        ("        if not claimed.edits:\n", "        if True:\n"),
        (f"{CONFORMANCE}::test_a_question_that_is_edited_later_is_answered_again_in_the_place_of_the_old_answer",),
    ),
    Mutation(
        "cards lose the words of questions that are gone",
        "adapters/shared/digest_cards.py",
        ('        row["text"] = (number[0]', '        row["was"] = (number[0]'),
        (f"{CONFORMANCE}::test_a_card_loses_the_words_of_a_question_that_is_not_there_any_more",),
    ),
    Mutation(
        "cards lose the words of questions that they list besides",
        "bot/unanswered/expert_answers.py",
        (' in closed or gone & {*card.data["questions"]} or', " in closed or"),
        (f"{CONFORMANCE}::test_a_card_loses_the_words_of_a_question_that_is_not_there_any_more",),
    ),
    Mutation(
        "Web: steps of a question that is answered again stay above its answer",
        "adapters/web/channel/turn_view.py",
        ('            self._shut = any(each.kind == "answer" for each in earlier)\n', ""),
        (f"{CONFORMANCE}::test_a_question_that_is_edited_later_is_answered_again_in_the_place_of_the_old_answer",),
    ),
    # follow-ups without a mention
    Mutation(
        "talk between people is left alone",
        "adapters/shared/follow_ups.py",
        (' != "outsider" and not await shared()', ' != "outsider"'),
        (f"{CONFORMANCE}::test_once_somebody_else_writes_it_is_talk_between_people",),
    ),
    Mutation(
        "thanks are no question",
        "adapters/shared/follow_ups.py",
        (" or not says_something(message.text):", ":"),
        (f"{CONFORMANCE}::test_what_asks_the_bot_nothing_is_left_alone",),
    ),
    Mutation(
        "outsiders mention the bot",
        "adapters/shared/follow_ups.py",
        ('return (await actor()).role != "outsider" and', "return"),
        (f"{SLACK}/test_adapter.py::test_outsiders_mention_it_in_its_own_threads_too",),
    ),
    Mutation(
        "only the bot's own threads go on",
        "bot/store/conversations.py",
        ("        return own and all(", "        return bool(asked) and all("),
        (f"{CONFORMANCE}::test_a_thread_of_people_is_not_the_bots_own",),
    ),
    Mutation(
        "a thread goes on for a day",
        "bot/store/conversations.py",
        (" and latest > since\n", "\n"),
        (f"{CONFORMANCE}::test_a_day_later_it_takes_a_mention_again",),
    ),
    Mutation(
        "a channel may ask for mentions",
        "adapters/shared/follow_ups.py",
        (' or (await bot.channels.preferences(message.place)).follow == "mentions":', ":"),
        (f"{CONFORMANCE}::test_a_channel_can_ask_for_mentions",),
    ),
    Mutation(
        "Slack: no stream is begun after one that could not be ended",
        "adapters/slack/rendering/steps.py",
        ("                self._streams = False\n", ""),
        (f"{SLACK}/test_turn_view.py::test_after_a_stream_that_cannot_be_ended_no_other_one_is_begun",),
    ),
    # Slack: who reads along, and who may do what
    Mutation(
        "Slack: a member who is made a guest is one at once",
        "adapters/slack/adapter.py",
        ("                    slack.changed(account)\n", "                    pass\n"),
        (f"{SLACK}/test_adapter.py::test_a_member_who_is_made_a_guest_is_one_at_once",),
    ),
    Mutation(
        "Slack: whoever reads along and is made a guest is one at once",
        "adapters/slack/transport/directory.py",
        ("account if one[\"id\"] == account[\"id\"] else one for one", "one for one"),
        (f"{SLACK}/test_adapter.py::test_a_member_who_is_made_a_guest_is_one_at_once",),
    ),
    Mutation(
        "Slack: who has left the workspace may do nothing",
        "adapters/slack/audience.py",
        ('return "outsider" if found.get("deleted") else', "return"),
        (f"{SLACK}/test_audience.py::test_who_somebody_is",),
    ),
    Mutation(
        "Slack: a workspace beside ours in an organisation is not the team",
        "adapters/slack/audience.py",
        ('(user.get("team_id"), *listed)', '(user.get("team_id"),)'),
        (f"{SLACK}/test_audience.py::test_of_an_organisation_the_workspaces_of_an_account_decide",),
    ),
    Mutation(
        "Slack: who reads a channel that is opened or closed is asked anew",
        "adapters/slack/adapter.py",
        ('                    slack.ask_anew(str(event.get("channel")))\n', "                    pass\n"),
        (f"{SLACK}/test_adapter.py::test_a_channel_that_is_opened_or_closed_is_read_by_others_at_once",),
    ),
    Mutation(
        "Slack: no acknowledgement is longer than Socket Mode takes",
        "adapters/slack/commands.py",
        ("        if fits(acked):", "        if True:"),
        (f"{SLACK}/test_commands.py::test_a_long_text_that_is_not_taken_comes_back_whole",),
    ),
    Mutation(
        "Slack: why nothing is learnt from a reply is said once",
        "adapters/slack/adapter.py",
        ("    if await context.bot.outbox.reserve(post) is None:\n        context", "    if True:\n        context"),
        (f"{SLACK}/test_digest.py::test_that_nobody_knows_an_answer_is_heard_once_and_in_time",),
    ),
    Mutation(
        "Slack: whoever asked where the bot may not write is told so",
        "adapters/slack/adapter.py",
        ("                tell_barred=partial(_tell_barred, context),\n", ""),
        (f"{SLACK}/test_adapter.py::test_where_the_bot_may_not_write_its_asker_is_told_alone",),
    ),
    Mutation(
        "Slack: nobody waits too long for who somebody is",
        "adapters/slack/transport/directory.py",
        ("asyncio.timeout(self._patience)", "asyncio.timeout(None)"),
        (f"{SLACK}/test_audience.py::test_nobody_waits_too_long_for_a_look_up_and_it_goes_on_for_the_next",),
    ),
    Mutation(
        "Slack: whoever wanted a form is told that it did not open",
        "adapters/slack/transport/acks.py",
        ('        if error.code != "not_found":', "        if False:"),
        (
            f"{SLACK}/test_commands.py::test_a_form_that_slack_does_not_open_is_said_to_whoever_wanted_it",
            f"{SLACK}/test_feedback.py::test_whoever_wants_to_say_why_is_told_when_slack_opens_no_form",
        ),
    ),
    Mutation(
        "Slack: of a form of the App Home people are told in their own conversation",
        "adapters/slack/ingestion.py",
        ("kept.channel or kept.direct", "kept.channel"),
        (f"{SLACK}/test_commands.py::test_a_form_that_slack_does_not_open_is_said_to_whoever_wanted_it",),
    ),
    Mutation(
        "Slack: the form that asks why waits for nobody",
        "adapters/slack/feedback.py",
        (
            "    tell = partial(whisper, context, channel, user, thread=thread_of(body))\n",
            "    tell = partial(whisper, context, channel, user, thread=thread_of(body))\n"
            "    await context.language_of(user)\n",
        ),
        (f"{SLACK}/test_feedback.py::test_a_form_opens_in_time_though_slack_does_not_say_who_somebody_is",),
    ),
    Mutation(
        "Slack: a command is answered where its own address does not work",
        "adapters/slack/rendering/block_kit.py",
        ("        await whisper(context, channel, user, text, blocks=blocks)\n", ""),
        (f"{SLACK}/test_commands.py::test_a_command_is_answered_where_its_own_address_does_not_work",),
    ),
    Mutation(
        "Slack: where the words of an answer are refused that is said",
        "adapters/slack/turn_view.py",
        ("                await self._put(number, _REFUSED.to(self._language, code=error.code), [()])\n", "                raise\n"),
        (f"{SLACK}/test_turn_view.py::test_where_the_words_are_refused_that_is_said",),
    ),
    Mutation(
        "Slack: a token that is revoked while it runs is noticed",
        "adapters/slack/transport/api_call.py",
        ("                        self.refused.set()\n", "                        pass\n"),
        (f"{SLACK}/test_adapter.py::test_a_token_that_is_revoked_while_it_runs_ends_it_and_a_single_refusal_does_not",),
    ),
    Mutation(
        "Slack: a bot's thumb is no vote",
        "adapters/slack/feedback.py",
        ("    if post is None or await context.places.is_bot(user):", "    if post is None:"),
        (f"{SLACK}/test_adapter.py::test_a_thumb_of_any_colour_on_the_answer_is_a_vote",),
    ),
    Mutation(
        "Slack: a form that is left open adds nothing to a channel that somebody has left",
        "adapters/slack/ingestion.py",
        ("    if await context.places.is_out(place.channel, user):\n        raise NotTakenError(_NOT_HERE)\n", ""),
        (f"{SLACK}/test_commands.py::test_a_form_that_is_left_open_gives_nothing_to_a_place_that_its_reader_has_left",),
    ),
    Mutation(
        "Slack: nor is shown what was asked there",
        "adapters/slack/expert_answers.py",
        ("        return notice_modal(_OUT.to(language), language)\n", "        pass\n"),
        (f"{SLACK}/test_digest.py::test_who_has_left_a_private_place_answers_nothing_there_from_a_form_that_is_still_open",),
    ),
    Mutation(
        "Slack: nor answers what was asked there",
        "adapters/slack/expert_answers.py",
        ("        return _OUT.to(language)\n", "        pass\n"),
        (f"{SLACK}/test_digest.py::test_who_has_left_a_private_place_answers_nothing_there_from_a_form_that_is_still_open",),
    ),
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
        "adapters/shared/feedback.py",
        ('known = post is not None and post.kind == "answer" and post.about == feedback.turn', "known = True"),
        (
            f"{SLACK}/test_feedback.py::test_a_vote_is_for_the_answer_it_is_pressed_on_whatever_the_button_says",
            f"{discord_mutations.DISCORD}/test_feedback.py::test_a_forged_button_is_no_vote",
        ),
    ),
    Mutation(
        "a vote again, without a word, leaves what was said with it",
        "bot/store/feedback.py",
        ("if stands == given.vote and not (given.reason or given.text):", "if False:"),
        (
            "tests/bot/turns/test_turns.py::test_a_thumbs_down_is_a_miss_while_it_stands",
            f"{SLACK}/test_feedback.py::test_whoever_reacts_with_a_thumb_down_is_offered_alone_and_once_to_say_why",
        ),
    ),
    # Slack: what is shown, and what is fetched
    Mutation(
        "Slack: no token of a text is one of Slack's",
        "adapters/slack/rendering/markdown.py",
        ('.replace("<", "&lt;").replace("![",', '.replace("![",'),
        (f"{SLACK}/rendering/test_markdown.py",),
    ),
    Mutation(
        "Slack: nobody is called",
        "adapters/slack/rendering/markdown.py",
        ("    shown = without_pings(text).replace(", "    shown = text.replace("),
        (f"{SLACK}/rendering/test_markdown.py",),
    ),
    Mutation(
        "Slack: names are not parsed",
        "adapters/slack/transport/api.py",
        ('_NO_MARKUP = {"parse": "none", "link_names": False}', '_NO_MARKUP = {"parse": "full", "link_names": True}'),
        (f"{SLACK}/transport/test_idempotency.py::test_a_message_is_bare_and_marked",),
    ),
    Mutation(
        "Slack: the token goes to Slack only",
        "adapters/slack/transport/api.py",
        ("        if self.addresses.gets_token(url):\n", "        if url:\n"),
        (f"{SLACK}/test_files.py::test_another_server_gets_no_token",),
    ),
    Mutation(
        "Slack: files are fetched from Slack only",
        "adapters/slack/files.py",
        ("            if not slack.addresses.is_slack(url):\n", "            if not url:\n"),
        (f"{SLACK}/test_files.py::test_another_server_is_not_asked",),
    ),
    *(
        Mutation(safeguard, "bot/unanswered/asking.py", change, (f"{ASKING}::{test}",))
        for safeguard, change, test in (
            (
                "what waits for a morning waits for the next one",
                ("            if self._due(ask, to) > self.clock():\n                return\n", ""),
                "test_what_a_day_did_not_bring_waits_for_the_next_morning",
            ),
            (
                "whoever does not want to be asked by the morning is not",
                ("            if await self.opted_out(ask.recipient):\n", "            if not ask:\n"),
                "test_whoever_does_not_want_to_be_asked_by_the_morning_gives_way_to_the_next",
            ),
            (
                "what is open again is asked again",
                ("if known is not None and await self._stands(known):", "if known is not None:"),
                "test_what_was_answered_and_is_open_again_is_asked_again",
            ),
            (
                "a person is not asked at night",
                ("        if MORNING <= local.time() < QUIET:\n", "        if now:\n"),
                "test_nobody_is_asked_in_their_night",
            ),
            (
                "who gets a private question is shown first",
                ("            if question.scope != TEAM and choice != one.recipient:\n", "            if False:\n"),
                "test_from_a_private_place_its_asker_sees_first_who_gets_what",
            ),
            (
                "only its asker gives a private question away",
                ("question.scope != TEAM and kept.asked.author != actor.id:", "False:"),
                "test_from_a_private_place_its_asker_sees_first_who_gets_what",
            ),
            (
                "a private question goes to no wider channel",
                ("to.place == place or (question.scope == TEAM and reaches_team(to.audience))", "bool(to.place)"),
                "test_what_is_private_goes_to_no_channel_with_more_readers",
            ),
            (
                "the card of a person has what they may read",
                ("        allowed: Readers = readers(to.place, to.audience)\n",
                 "        allowed = Readers(frozenset({question.scope, TEAM}))\n"),
                "test_from_a_private_place_its_asker_sees_first_who_gets_what",
            ),
            (
                "who has opted out is not asked",
                ("            if one.recipient in seen or one.recipient in out:\n",
                 "            if one.recipient in seen:\n"),
                "test_who_is_only_a_little_close_or_has_opted_out_is_not_asked",
            ),
            (
                "a person is asked a few questions a day",
                ("timedelta(days=1)))[1] < A_DAY:", "timedelta(days=1)))[1] < 1_000:"),
                "test_nobody_is_asked_more_than_a_few_questions_a_day",
            ),
            (
                "outsiders have nobody asked",
                ('        if role(actor, self.settings) == "outsider":\n', "        if not actor:\n"),
                "test_outsiders_have_nobody_asked_and_read_no_names",
            ),
            (
                "a turn is known at its own place",
                ("kept is None or kept.asked.place != place:", "kept is None:"),
                "test_a_turn_of_another_place_is_not_known",
            ),
            (
                "a question is brought to one person",
                ("            if known is not None and await self._stands(known):\n", "            if known is not None and False:\n"),
                "test_nobody_is_asked_in_their_night",
            ),
        )
    ),
    *(
        Mutation(
            f"a long text is read in no longer than it is: {what}",
            file,
            change,
            ("tests/hostile/test_long_texts.py",),
        )
        for what, file, change in (
            ("a sum", "agent/routing/calculator.py", ("    if len(text) <= MOST_CHARACTERS:\n", "    if True:\n")),
            ("figures", "agent/grounding/quantities.py", ('_NO_FIGURE.sub(" ", ', '("").join(')),
            ("addresses", "agent/links.py", ("|[^<>\\s@]+@", "|[^>\\s@]+@")),
            ("citations", "agent/citations.py", ("(?<![ \\t\\u3000])[ \\t\\u3000]*", "[ \\t\\u3000]*")),
            ("a draft", "agent/reflection.py", ('r"""[ \\t\\u3000>', 'r"""[\\s>')),
            ("found and sure", "agent/reflection.py", ("^([^\\w\\n]*found", "^(\\W*found")),
            ("quotations", "bot/texts.py", ("「[^「」]*」", "「[^」]*」")),
            ("a name", "bot/texts.py", ("[\\w.+#-]*+", "[\\w.+#-]*")),
        )
    ),
    Mutation(
        "a forgotten document leaves what was answered",
        "bot/store/documents.py",
        ("withdraw(db, names, now)", "pass"),
        (WITHDRAWN,),
    ),
    Mutation(
        "a document for fewer leaves others' answers",
        "bot/store/documents.py",
        ("            if before is not None and before.scope != row.scope:\n", "            if False:\n"),
        (WITHDRAWN,),
    ),
    Mutation(
        "who may still read it keeps the answer",
        "bot/store/withdrawal.py",
        ("not still_read(_scopes(one))", "_scopes(one)"),
        (WITHDRAWN,),
    ),
    Mutation(
        "a redacted answer is shown again",
        "bot/store/withdrawal.py",
        ('{"state": "answered", "owner": None,', '{"state": "done", "owner": None,'),
        (f"{CONFORMANCE}::test_the_quotation_of_a_withdrawn_document_leaves_the_answer_that_was_posted",),
    ),
    Mutation(
        "steps go with a document that they name",
        "bot/store/withdrawal.py",
        ("    for turn in empty_steps(db, some):\n", "    for turn in ():\n"),
        (f"{CONFORMANCE}::test_steps_go_with_a_document_that_was_found_and_not_cited",),
    ),
    Mutation(
        "steps that are folded while their document goes",
        "bot/store/turns.py",
        ("                empty_steps(db, withheld(db, again))", "                pass"),
        (WITHDRAWN,),
    ),
    Mutation(
        "what went before an answer was stored leaves its trace",
        "bot/turns/turns.py",
        ("        message, found = turn.claimed.message, turn.recording.found\n", "        message = turn.claimed.message\n        found = {d: n for d, n in turn.recording.found.items() if d in map(turn.recording.document, answer.citations)}\n"),
        ("tests/bot/turns/test_turns.py::test_a_document_that_was_only_found_and_went_meanwhile_leaves_the_trace",),
    ),
    Mutation(
        "what is shown again leaves room for the questions of today",
        "bot/store/turns.py",
        (".order_by(turns.c.finished_at.desc()).limit(room)", ".order_by(turns.c.finished_at.desc())"),
        (WITHDRAWN,),
    ),
    Mutation(
        "what went just before an answer was stored",
        "bot/turns/turns.py",
        ("            answer = await self._still_theirs(turn, answer)\n", ""),
        (WITHDRAWN_LATE,),
    ),
    Mutation(
        "what went just before an answer was stored is not kept",
        "bot/turns/turns.py",
        ("        await finished(self._inbox.withdraw(turn.claimed, gone))\n", "        pass\n"),
        (WITHDRAWN_LATE,),
    ),
    Mutation(
        "what went while an answer was being posted",
        "bot/store/turns.py",
        ('answers.c.show_at <= bindparam("now")', "answers.c.show_at.is_(None)"),
        (WITHDRAWN,),
    ),
    Mutation(
        "what went while nothing of an answer was posted",
        "bot/store/turns.py",
        ("answers.c.turn.in_(ended)", "answers.c.turn.in_(again)"),
        (WITHDRAWN,),
    ),
    Mutation(
        "what was said in a channel is asked anew before it goes on",
        "bot/store/conversations.py",
        (" or row.turn in withheld", ""),
        (WITHDRAWN,),
    ),
    Mutation(
        "what went while the end of a showing waited for the database",
        "bot/store/turns.py",
        ("for _, _, now in shown) + BESIDE", "for _, _, now in shown)"),
        (WITHDRAWN,),
    ),
    Mutation(
        "an asker's answer is not for who joined since",
        "adapters/shared/expert_answers.py",
        ("        elif await self.bot.experts.notices.readable(notice, audience):\n", "        elif True:\n"),
        (f"{SLACK}/test_digest.py::test_an_answer_is_told_where_its_readers_read_by_then_and_nowhere_else",),
    ),
    Mutation(
        "a card that is sent later is not for who joined since",
        "bot/unanswered/asking.py",
        ('            if ask.reason == "channel" and not _may_go_to(to, question, kept.asked.place):\n', "            if False:\n"),
        (f"{ASKING}::test_what_is_sent_later_goes_to_no_channel_that_outsiders_read_by_then",),
    ),
    Mutation(
        "nobody is told of a page that is forgotten",
        "bot/store/withdrawal.py",
        ("notices.c.of_page.is_(True)))  # it names pages", "notices.c.of_page.is_(None)))"),
        ("tests/bot/turns/test_living.py::test_of_a_page_that_is_forgotten_nobody_is_told_any_more",),
    ),
    *(
        Mutation(
            f"what an asker was told goes with the question: {where}",
            file,
            change,
            (f"{CONFORMANCE}::test_what_its_asker_was_told_goes_with_a_deleted_question",),
        )
        for where, file, change in (
            ("Slack", "adapters/slack/digest.py", ("Post(notice.turn,", 'Post(f"notice:{notice.id}",')),
            ("Discord", "adapters/discord/turn_view.py", ('("steps", "answer", "notice")', '("steps", "answer")')),
            ("browser", "adapters/web/channel/digest.py", ("thread, notice.turn,", 'thread, f"notice:{notice.id}",')),
        )
    ),
    Mutation(
        "a page that is forgotten is not named as the closest",
        "bot/store/withdrawal.py",
        ("    quoted |= dict.fromkeys(db.scalars(missed), documents)\n", ""),
        (f"{WITHDRAWN}::test_the_page_that_came_closest_to_nothing_is_not_named_any_more",),
    ),
    *(
        Mutation(f"who is told what: {where}", file, change, ("tests/hostile/test_leaks.py",))
        for where, file, change in (
            ("outsiders", "bot/access.py", ("return Readers(here | {EVERYONE})", "return Readers(here | {EVERYONE, TEAM})")),
            ("pages", "adapters/web/visitor.py", ("return readers_of(self.member)", "return readers_of(MEMBERS[0])")),
            ("programs", "bot/programs/programs.py", ('Audience("outsiders")', 'Audience("public")')),
            (
                "private threads of Discord",
                "adapters/discord/audience.py",
                ("            if channel.is_private():\n                return PRIVATE\n", ""),
            ),
            (
                "overwrites of Discord",
                "adapters/discord/audience.py",
                ("reads(channel, channel.permissions_for(everyone))", "everyone.permissions.view_channel"),
            ),
            (
                "strangers of Discord",
                "adapters/discord/audience.py",
                ("PRIVATE if await self._memberships(person) else OUTSIDERS", "PRIVATE"),
            ),
            (
                "links into private threads of Discord",
                "adapters/discord/transport/message_links.py",
                ("and channel.is_private() and not allowed.manage_threads:", "and False:"),
            ),
            (
                "channels that are followed",
                "bot/sources/channel.py",
                ("if scope is not None and scope not in allowed.scopes", "if False"),
            ),
        )
    ),
    Mutation(
        "empty collections are the team's to see",
        "bot/store/collections.py",
        (" and TEAM in readers.scopes)", ")"),
        ("tests/bot/store/test_store.py::test_collections_count_what_may_be_read",),
    ),
    Mutation(
        "what an asker is shown first names nothing that only the other may read",
        "bot/unanswered/asking.py",
        (" if hit.passage.scope in asker.scopes]", "]"),
        (f"{ASKING}::test_who_asks_is_not_told_what_only_the_one_who_is_asked_may_read",),
    ),
    Mutation(
        "what was answered before an outsider came is not told on",
        "bot/store/conversations.py",
        ("if row.hidden or row.turn", "if row.turn"),
        (
            "tests/hostile/test_disclosure.py"
            "::test_llm02_what_was_answered_before_an_outsider_came_is_not_told_on",
        ),
    ),
    Mutation(
        "a digest's card knows the documents that it names",
        "bot/unanswered/digest_card.py",
        ('        sources=("", *words, *[""] * len(details), " ".join(one.id for one in group.documents)),\n', ""),
        ("tests/bot/unanswered/test_digest.py::test_a_row_knows_the_documents_that_it_names",),
    ),
    Mutation(
        "a line that names several documents goes with one of them",
        "bot/store/withdrawal.py",
        ("if gone.isdisjoint(source.split())", "if source not in gone"),
        (f"{CONFORMANCE}::test_the_quotation_of_a_withdrawn_document_leaves_cards",),
    ),
    Mutation(
        "what is cut off at the end of the search time counts as no outage",
        "agent/tools.py",
        ("        except CutOffError:\n            raise\n", ""),
        (
            "tests/agent/strategies/test_react_failures.py"
            "::test_a_search_that_the_time_for_searching_cut_off_is_made_once_more",
        ),
    ),
    Mutation(
        "what one search has found stays when another is cut off",
        "agent/strategies/synthesis.py",
        ("            if not self._run.findings.hits:\n                raise", "            raise"),
        (
            "tests/agent/strategies/test_react_failures.py"
            "::test_what_one_search_has_found_stays_when_another_is_cut_off",
        ),
    ),
    Mutation(
        "the end of a long follow-up is searched",
        "agent/tool_calls.py",
        ("for part in parts)", "for part in parts[:1])"),
        ("tests/agent/strategies/test_synthesis.py::test_of_a_long_follow_up_the_end_is_searched_too",),
    ),
    Mutation(
        "figures of use that are none cost no answer",
        "agent/models/openai_stream.py",
        (" and 0 <= value < _MOST else", " else"),
        ("tests/agent/models/test_openai.py::test_figures_of_use_that_are_none_cost_no_answer",),
    ),
    Mutation(
        "asking: who cannot be asked gives way once the next can be looked for",
        "bot/unanswered/asking.py",
        ("            if question.scope != TEAM:\n                await self.asks.drop(ask.turn)\n                return\n", "            await self.asks.drop(ask.turn)\n            if question.scope != TEAM:\n                return\n"),
        ("tests/bot/unanswered/test_asking.py::test_who_cannot_be_asked_any_more_gives_way_once_the_next_can_be_looked_for",),
    ),
    Mutation(
        "asking: a question on an open card gets no second one there",
        "bot/unanswered/asking.py",
        ("            if to.place in [card.place for card in await self.cards([question.id])]:", "            if False:"),
        ("tests/bot/unanswered/test_asking.py::test_a_question_on_an_open_card_of_the_digest_gets_no_second_one_there",),
    ),
    Mutation(
        "two documents of one name are two in an answer",
        "agent/events.py",
        ("one.document_id in documents if one.document_id else one", "one"),
        (f"{WITHDRAWN}::test_two_documents_of_one_name_are_two_in_an_answer",),
    ),
    Mutation(
        "what cites a document that is merged cites its twin",
        "bot/store/documents.py",
        ("        correct_citations(db, {row.id: row.name}, document_id=row.twin)\n", ""),
        (f"{WITHDRAWN}::test_the_twin_of_a_document_answers_for_it",),
    ),
    Mutation(
        "what a model searched for goes with what it had read",
        "bot/store/withdrawal.py",
        ("    withdraw_queries(db, ran)\n", ""),
        ("tests/bot/store/test_withdrawal.py::test_what_a_model_searched_for_goes_with_what_it_had_read_and_still_counts",),
    ),
    Mutation(
        "what was asked most loses the words of a deleted question",
        "bot/store/erasure.py",
        ("    strip(db, {turn})\n", ""),
        (f"{CONFORMANCE}::test_what_is_asked_most_loses_the_words_of_a_question_that_is_taken_back",),
    ),
    Mutation(
        "what was asked most loses the words of who is forgotten",
        "bot/store/erasure.py",
        ("    strip(db, {*ids})\n", ""),
        ("tests/bot/operations/test_retention.py::test_the_words_of_their_question_leave_what_was_asked_most",),
    ),
    Mutation(
        "a card that was closed loses the words of a deleted question",
        "bot/store/erasure.py",
        ('values(data={**card.data, "closed": False})', "values(data=card.data)"),
        (f"{CONFORMANCE}::test_a_card_that_was_closed_loses_the_words_of_a_question_that_is_deleted",),
    ),
    *(
        Mutation(
            f"a question about a reply loses the words of a deleted one: {where}",
            file,
            change,
            (
                "tests/adapters/test_card_replies.py"
                "::test_the_words_of_a_question_that_is_deleted_are_not_asked_about_any_more",
            ),
        )
        for where, file, change in (
            ("platforms", "adapters/shared/digest_cards.py", ("    for one in asked if gone else ():\n", "    for one in ():\n")),
            ("browser", "bot/store/erasure.py", ("        forget_confirms(db, asked)\n", "        pass\n")),
        )
    ),
    Mutation(
        "an expert's answer that is withdrawn leaves the threads where it was told",
        "bot/store/withdrawal.py",
        ("        take_notices_back(db, turn, now, of_page=False)\n", "        pass\n"),
        (f"{CONFORMANCE}::test_an_experts_answer_that_is_withdrawn_leaves_the_threads_where_it_was_told",),
    ),
    *(
        Mutation(
            f"the notice of a page goes: {where}",
            file,
            change,
            (f"{CONFORMANCE}::test_the_notice_of_a_page_goes_with_the_page_and_with_the_answer",),
        )
        for where, file, change in (
            ("withdrawn", "bot/store/withdrawal.py", ("    take_notices_back(db, turn, now, of_page=True)\n", "")),
            ("edited", "bot/store/turns.py", ("                take_notices_back(db, row.id, now)\n", "")),
            ("Slack", "adapters/slack/turn_view.py", (" for post in taken_back(self._earlier)]", " for post in ()]")),
            ("Discord", "adapters/discord/turn_view.py", ('taken_back(self._saying.parts("notice"))', "[]")),
            ("browser", "adapters/web/channel/digest.py", (', "of_page": notice.of_page}', "}")),
        )
    ),
    Mutation(
        "words asked where outsiders read along",
        "bot/store/searches.py",
        ("for scope in scopes if scope != EVERYONE]", "for scope in scopes]"),
        (
            "tests/hostile/test_disclosure.py"
            "::test_llm02_words_asked_where_outsiders_read_along_are_nobody_elses",
        ),
    ),
    Mutation(
        "the name of a private place's collection",
        "bot/store/documents.py",
        ("            _drop_private(db, there)\n", ""),
        ("tests/bot/store/test_store.py::test_the_name_of_a_private_places_collection_goes_with_its_last_document",),
    ),
    Mutation(
        "the name of a private place's collection that others take over",
        "bot/store/documents.py",
        ("                _drop_private(db, [before])\n", "                pass\n"),
        ("tests/bot/store/test_store.py::test_the_name_of_a_private_places_collection_goes_with_its_last_document",),
    ),
    Mutation(
        "a card that lost its lines keeps no document from being forgotten",
        "bot/store/withdrawal.py",
        ("strict=False))  # older cards", "strict=True))  # older cards"),
        (f"{WITHDRAWN}::test_a_card_that_lost_its_lines_keeps_no_document",),
    ),
    Mutation(
        "a card that loses its lines loses what they quoted",
        "adapters/shared/digest_cards.py",
        ('        row.pop("sources", None)  # of the details\n', ""),
        (f"{CONFORMANCE}::test_a_card_whose_question_is_gone_keeps_no_document_from_being_withdrawn",),
    ),
    Mutation(
        "cards lose what was withdrawn",
        "bot/store/withdrawal.py",
        ("    strip(db, documents.keys())\n", ""),
        (f"{CONFORMANCE}::test_the_quotation_of_a_withdrawn_document_leaves_cards",),
    ),
    Mutation(
        "Slack: what was looked up before a channel changed is not kept",
        "adapters/slack/transport/directory.py",
        ("        if not now:\n            return value\n", ""),
        (f"{SLACK}/transport/test_api_call.py::test_what_is_looked_up_while_it_changes_is_not_believed",),
    ),
    Mutation(
        "who reads along is not asked again where nobody knew",
        "adapters/shared/turns.py",
        ("            and made_for != UNKNOWN  # nobody reads less\n", ""),
        (f"{SLACK}/test_adapter.py::test_where_slack_does_not_say_who_reads_along_it_is_asked_once",),
    ),
    Mutation(
        "an answer is for those who read along by then",
        "adapters/shared/turns.py",
        ("            raise ReadersChanged\n", "            pass\n"),
        (f"{CONFORMANCE}::test_whoever_reads_along_by_the_time_of_an_answer_reads_what_they_may",),
    ),
    Mutation(
        "what is shown again is for today's readers",
        "bot/turns/turns.py",
        ("await self._as_read_now(turn, started.answer)) is not None", "started.answer) is not None"),
        ("tests/bot/test_bot.py::test_an_answer_that_is_shown_again_is_for_those_who_read_it_now",),
    ),
    Mutation(
        "a question is read where it was brought, only",
        "bot/store/unanswered.py",
        ("select(asks.c.question).where(at_place(asks, place))", "select(asks.c.question)"),
        (f"{ASKING}::test_from_a_private_place_its_asker_sees_first_who_gets_what",),
    ),
    Mutation(
        "outsiders see no button to ask a person",
        "adapters/shared/asking.py",
        ("doubtful and reaches_team(message.audience)", "doubtful"),
        (f"{SLACK}/test_asking.py::test_where_outsiders_read_along_there_is_no_button",),
    ),
    *(
        Mutation(*each)
        for beside in (
            discord_mutations,
            process_mutations,
            server_mutations,
            source_mutations,
            web_mutations,
        )
        for each in beside.MUTATIONS
    ),
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
        [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "--tb=no",
            "--long",
            "-p",
            "no:cacheprovider",
            *tests,
        ],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    failed = re.search(r"^(?:FAILED|ERROR) ([^\s].*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    last = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, failed[1] if failed else (last[-1] if last else "")


def taken_out(mutation: Mutation, tree: Path) -> tuple[str, str]:
    """The text of its file in `tree`, and that without the safeguard. Raises Misplaced where the first does not have it
    exactly once, or the other is no code any more."""
    file = tree / mutation.file
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    old, new = mutation.change
    if before.count(old) != 1:
        raise Misplaced(f"{mutation.safeguard}: {mutation.file} has {before.count(old)} times {old!r}")
    after = before.replace(old, new)
    if file.suffix == ".py":
        try:
            compile(after, mutation.file, "exec")
        except SyntaxError as error:
            raise Misplaced(f"{mutation.safeguard}: {mutation.file} is no code without it: {error}") from None
    return before, after


@contextmanager
def mutated(tree: Path, mutation: Mutation) -> Iterator[None]:
    before, after = taken_out(mutation, tree)
    (tree / mutation.file).write_text(after, encoding="utf-8")
    try:
        yield
    finally:
        (tree / mutation.file).write_text(before, encoding="utf-8")


def main(only: str, baseline: bool) -> int:
    chosen = [each for each in MUTATIONS if only in each.safeguard]
    with copied() as tree:
        for mutation in chosen:
            taken_out(mutation, tree)  # every one has its place, before the first test runs
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
