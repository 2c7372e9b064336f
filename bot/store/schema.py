"""The tables, declared once. A change here goes with a revision in `migrations/versions/`; a test compares the two."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    false,
    text,
)


class Moment(TypeDecorator[datetime]):
    """An aware UTC datetime; SQLite keeps no zone, so it is put back on the way out."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        moment: datetime | None = value
        return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# A question from the moment it is claimed (the inbox) until it has its one answer. `claim` is what the person did:
# platform, workspace, channel and message. `sequence` is the order in a thread.
turns = Table(
    "turns",
    metadata,
    Column("sequence", Integer, primary_key=True, autoincrement=True),
    Column("id", String(32), nullable=False, unique=True),
    Column("claim", String(400), nullable=False, unique=True),
    Column("platform", String(40), nullable=False),
    Column("workspace", String(80), nullable=False),
    Column("channel", String(80), nullable=False),
    Column("thread", String(80), nullable=False),
    Column("message", String(80), nullable=False),
    Column("author", String(80), nullable=False),
    Column("text", Text, nullable=False),
    Column("audience", String(20), nullable=False),
    Column("language", String(2), nullable=True),
    Column("link", Text, nullable=True),
    Column("model", String(120), nullable=True),
    Column("strategy", String(40), nullable=True),
    Column("collections", JSON, nullable=True),
    Column("state", String(12), nullable=False),  # waiting | running | answered (stored, not yet shown) | done
    Column("attempts", Integer, nullable=False, default=0),
    Column("owner", String(80), nullable=True),  # the process that holds it
    Column("lease_until", Moment, nullable=True),  # an open turn whose lease has passed was abandoned
    Column("claimed_at", Moment, nullable=False),
    Column("finished_at", Moment, nullable=True),
    Column("edits", Integer, nullable=False, default=0, server_default="0"),  # after which it was answered again
    Column("deleted_at", Moment, nullable=True),  # its asker took it back: only the claim is left of it
    Index("ix_turns_deleted_at", "deleted_at"),
    Index("ix_turns_thread", "platform", "workspace", "channel", "thread", "sequence"),
    Index("ix_turns_state", "state"),
)

answers = Table(
    "answers",
    metadata,
    Column("turn", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("text", Text, nullable=False),
    Column("outcome", String(12), nullable=False),
    Column("citations", JSON, nullable=False),
    Column("model", String(120), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("thought_tokens", Integer, nullable=False),
    Column("searched", JSON, nullable=False),
    Column("confidence", Float, nullable=True),
    Column("marked", Boolean, nullable=False),
    Column("unsure", Boolean, nullable=False, default=False, server_default=false()),
    Column("answered_at", Moment, nullable=False),
    Column("changes", JSON(none_as_null=True), nullable=True),  # of the pages it cites; NULL: none that concerns it
    Column("show_at", Moment, nullable=True),  # when to show it again, where its platform would not have it yet
    Index("ix_answers_show_at", "show_at"),
)

# Misses: what nobody could answer yet.
questions = Table(
    "questions",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("turn", ForeignKey("turns.id", ondelete="CASCADE"), nullable=False),
    Column("question", Text, nullable=False),
    Column("reason", String(20), nullable=False),  # unknown | low_confidence | reported
    Column("detail", Text, nullable=False, default=""),  # of a report: wrong, outdated, … and the free text
    Column("searched", JSON, nullable=False),
    Column("confidence", Float, nullable=True),
    Column("scope", String(200), nullable=False),  # who may see the question itself; elsewhere it only counts
    Column("link", Text, nullable=True),
    Column("asked_at", Moment, nullable=False),
    Column("resolved_at", Moment, nullable=True),
    Column("resolution", String(12), nullable=True),  # answered | dismissed; NULL of a closed one: not known
    Column("answer", String(32), nullable=True),  # the document that answers it; taken out, the question is open again
    Column("reopened_at", Moment, nullable=True),
    UniqueConstraint("turn", "reason"),
    Index("ix_questions_asked_at", "asked_at"),
    Index("ix_questions_answer", "answer"),
    Index("ix_questions_reopened_at", "reopened_at"),
    sqlite_autoincrement=True,  # an id on an old card's button never becomes another question's
)

feedback = Table(
    "feedback",
    metadata,
    Column("turn", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("author", String(80), primary_key=True),
    Column("vote", String(4), nullable=False),
    Column("reason", String(20), nullable=True),
    Column("text", Text, nullable=False, default=""),
    Column("at", Moment, nullable=False),
)

# A document's identity is where it lives, who may read it and its name; its version is the hash of its bytes.
documents = Table(
    "documents",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("collection", String(80), nullable=False),
    Column("scope", String(200), nullable=False),
    Column("name", String(400), nullable=False),
    Column("title", Text, nullable=False),
    Column("url", Text, nullable=True),
    Column("hash", String(64), nullable=False),
    Column("markdown", String(64), nullable=False),  # the kept Markdown's address
    Column("chunks", Integer, nullable=False),
    Column("language", String(2), nullable=False),
    Column("author", String(80), nullable=False),
    Column("born", Integer, nullable=False),  # the generation that shows this version
    Column("added_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("changed_at", String(10), nullable=True),  # its own date or month, ISO; NULL: not known
    Column("owner", String(120), nullable=True),  # platform:id of whoever looks after it; NULL: who added it
    Column("said_in", String(120), nullable=True),  # the channel (#general) it was said in; NULL: it is no talk
    UniqueConstraint("collection", "scope", "name"),
)

# The kept Markdown of documents by the hash of its text, on a server that several machines share. Beside an SQLite file
# it is in a folder of the home, and this table is empty.
contents = Table(
    "contents",
    metadata,
    Column("address", String(64), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

# Files that wait to be read, likewise only on a server, in pieces.
held_files = Table(
    "held_files",
    metadata,
    Column("key", String(32), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    Column("at", Moment, nullable=False),
    Index("ix_held_files_at", "at"),
)

# People who were erased, until every machine has taken them out of its chat log; only on a server.
erasures = Table(
    "erasures",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("platform", String(40), nullable=False),
    Column("person", String(80), nullable=False),
    Column("turns", JSON, nullable=False),  # the ids of their questions
    Column("at", Moment, nullable=False),
)

# Documents that came to say something else, or went from their source, until the answers that cite them were checked.
# `before` is the address of the Markdown that they cited; NULL: what is gone.
changed_documents = Table(
    "changed_documents",
    metadata,
    Column("document", String(32), primary_key=True),
    Column("name", String(400), nullable=False),  # as answers cite it
    Column("before", String(64), nullable=True),
    Column("at", Moment, nullable=False),
    Index("ix_changed_documents_at", "at"),
)

collections = Table(
    "collections",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("description", Text, nullable=False, default=""),
    Column("created_at", Moment, nullable=False),
    Column("owner", String(120), nullable=True),  # platform:id of whoever looks after it
)

# Folders, repositories, sites and channels whose documents follow them. `cursor` is what the last whole look saw;
# `gone`: so many pages were not there any more, which waits for a person's word.
followed = Table(
    "followed",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("name", String(80), nullable=False, unique=True),
    Column("kind", String(12), nullable=False),  # folder | git | website | channel
    Column("location", Text, nullable=False),
    Column("options", JSON, nullable=False),
    Column("collection", String(80), nullable=False),
    Column("scope", String(200), nullable=False),
    Column("every", Integer, nullable=False),  # seconds
    Column("added_by", String(120), nullable=False),  # platform:id
    Column("added_at", Moment, nullable=False),
    Column("state", String(12), nullable=False),  # on | paused | asks
    Column("gone", Integer, nullable=False, default=0),
    Column("cursor", Text, nullable=True),
    Column("failures", Integer, nullable=False, default=0),  # one after the other
    Column("trouble", JSON, nullable=True),  # why, in both languages
    Column("checked_at", Moment, nullable=True),  # the last whole look
    Column("due_at", Moment, nullable=False),
    Column("owner", String(80), nullable=True),
    Column("lease_until", Moment, nullable=True),
)

# The pages of a source as they were last read: its document, or why it was refused in this version. Of a channel's
# threads also when to read one again, and who speaks in its document (" slack:U1 slack:U2 ").
followed_pages = Table(
    "followed_pages",
    metadata,
    Column("source", ForeignKey("followed.id", ondelete="CASCADE"), primary_key=True),
    Column("ref", String(1000), primary_key=True),
    Column("version", String(200), nullable=False),
    Column("document", String(32), nullable=True),
    Column("refusal", JSON, nullable=True),  # in both languages
    Column("due_at", Moment, nullable=True),
    Column("people", Text, nullable=True),
    Index("ix_followed_pages_document", "document"),
    Index("ix_followed_pages_due_at", "due_at"),
)

# Who does not want what they say in channels to be found. Only a hash is kept: of those who were erased, too.
unheard = Table(
    "unheard",
    metadata,
    Column("person", String(64), primary_key=True),
    Column("at", Moment, nullable=False),
)

# Programs that may ask, each by a token of which only the hash is kept; `calls` and `misses` are those of `used_on`.
tokens = Table(
    "tokens",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("audience", String(12), nullable=False),  # team | everyone
    Column("per_minute", Integer, nullable=False),
    Column("per_day", Integer, nullable=False),
    Column("added_by", String(120), nullable=False),  # platform:id
    Column("added_at", Moment, nullable=False),
    Column("used_on", Date, nullable=True),
    Column("calls", Integer, nullable=False, default=0),
    Column("misses", Integer, nullable=False, default=0),
)

# Whose documents these are: one row, made once. The index and the kept Markdown carry the same identity.
home = Table(
    "home",
    metadata,
    Column("place", Integer, primary_key=True, autoincrement=False),  # always 1: there is one home in a database
    Column("id", String(32), nullable=False),
    Column("made_at", Moment, nullable=False),
    Column("team", String(120), nullable=True),  # `platform:workspace`, whose members are the team where nobody chose
)

# The clock that retention goes by: when it was last believed, and since when it is doubted. One row.
retention_clock = Table(
    "retention_clock",
    metadata,
    Column("place", Integer, primary_key=True, autoincrement=False),  # always 1
    Column("believed_at", Moment, nullable=True),
    Column("doubted_at", Moment, nullable=True),
)

# One row a vector store: the space its vectors are of, and the generation that searches pass in.
indexes = Table(
    "indexes",
    metadata,
    Column("embedder", String(200), primary_key=True),
    Column("dimensions", Integer, nullable=False),
    Column("tokenizer", String(80), nullable=False),
    Column("generation", Integer, nullable=False),
    # The process that may commit the next generation, where several share a database: whoever has lost its lock cannot.
    Column("committer", String(80), nullable=True),
)

# Merges of collections that the index has yet to carry out: its points of `source` belong to `into`.
moves = Table(
    "moves",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("source", String(80), nullable=False),
    Column("into", String(80), nullable=False),
)

# The processes that have this database open, where several share it; `until`: it has died if it was not seen since.
processes = Table(
    "processes",
    metadata,
    Column("id", String(80), primary_key=True),
    Column("embedded", Boolean, nullable=False),  # its search index is one of its own machine
    Column("started_at", Moment, nullable=False),
    Column("until", Moment, nullable=False),
)

searches = Table(
    "searches",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("query", Text, nullable=False),
    Column("collection", String(400), nullable=False),
    Column("latency_ms", Float, nullable=False),
    Column("total_results", Integer, nullable=False),
    Column("filtered_results", Integer, nullable=False),
    Column("top_score", Float, nullable=False),
    Column("scores", JSON, nullable=False),
    Column("error", Text, nullable=True),
    Column("scope", String(200), nullable=False),  # who may see the query's words
    Column("turn", String(32), nullable=True),  # that searched; none: somebody did, by hand
    Column("at", Moment, nullable=False, default=lambda: datetime.now(UTC)),
    Index("ix_searches_at", "at"),
    Index("ix_searches_turn", "turn"),
)

# A digest from the moment it is claimed, by the time it was due; the first row only says when digests began.
digests = Table(
    "digests",
    metadata,
    Column("due", Moment, primary_key=True),
    Column("state", String(12), nullable=False),  # began | claimed | sent
    Column("attempts", Integer, nullable=False, default=0),
    Column("owner", String(80), nullable=True),  # the process that sends it
    Column("lease_until", Moment, nullable=True),  # a claimed one whose lease has passed may be sent by anybody
    Column("sent_at", Moment, nullable=True),
)

# What each paid model was used for, a day (in the application's time zone) and model.
usage = Table(
    "usage",
    metadata,
    Column("day", Date, primary_key=True),
    Column("model", String(120), primary_key=True),
    Column("calls", Integer, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("thought_tokens", BigInteger, nullable=False),
)

# Questions that came too fast to be answered; they do not count towards the limit that refused them.
refusals = Table(
    "refusals",
    metadata,
    Column("turn", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("reason", String(20), nullable=False),  # user | channel
)

Index("ix_turns_pace", turns.c.platform, turns.c.workspace, turns.c.claimed_at)  # the last minute's questions

# What was chosen for a channel; NULL: as the settings say.
places = Table(
    "places",
    metadata,
    Column("platform", String(40), primary_key=True),
    Column("workspace", String(80), primary_key=True),
    Column("channel", String(80), primary_key=True),
    Column("model", String(120), nullable=True),
    Column("strategy", String(40), nullable=True),
    Column("steps", String(12), nullable=True),
    Column("collections", JSON, nullable=True),
    Column("follow", String(12), nullable=True),  # thread | mentions
    Column("changed_at", Moment, nullable=False),
)

# What the bot says on platforms, from before it is sent. `about` is a turn, an intake or a digest; `message` NULL: it
# is not known whether it was sent.
posts = Table(
    "posts",
    metadata,
    Column("about", String(80), primary_key=True),
    Column("kind", String(12), primary_key=True),  # steps | answer | card | digest | notice | intake | confirm
    Column("part", Integer, primary_key=True),
    Column("platform", String(40), nullable=False),
    Column("workspace", String(80), nullable=False),
    Column("channel", String(80), nullable=False),
    Column("thread", String(80), nullable=True),
    Column("message", String(80), nullable=True),
    Column("data", JSON, nullable=False),
    Column("at", Moment, nullable=False),
    Index("ix_posts_message", "platform", "workspace", "channel", "message"),
    Index("ix_posts_at", "at"),
)

# What is still to be said in threads: their questions have an answer now.
notices = Table(
    "notices",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("turn", ForeignKey("turns.id", ondelete="CASCADE"), nullable=False),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("by", String(120), nullable=True),  # platform:id
    Column("owner", String(80), nullable=True),
    Column("lease_until", Moment, nullable=True),
    Column("attempts", Integer, nullable=False, default=0),
    Column("made_at", Moment, nullable=False),
    Column("corrects", Boolean, nullable=True),  # they were told an answer before
    Column("of_page", Boolean, nullable=True),  # it says what became of a page that their answer rests on
    UniqueConstraint("turn"),
)

# Questions that were brought to a person at once, or wait for that person's morning; one a turn.
asks = Table(
    "asks",
    metadata,
    Column("turn", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("question", ForeignKey("questions.id", ondelete="CASCADE"), nullable=False),
    Column("by", String(120), nullable=False),  # platform:id of whoever wanted it
    Column("recipient", String(120), nullable=False),  # platform:id of a person; of a channel, platform:#id
    Column("reason", String(12), nullable=False),  # owner | answered | channel
    Column("platform", String(40), nullable=False),  # where its card stands, whose readers may see the question
    Column("workspace", String(80), nullable=False),
    Column("channel", String(80), nullable=False),
    Column("asked_at", Moment, nullable=False),
    Column("due_at", Moment, nullable=False),
    Column("sent_at", Moment, nullable=True),
    Index("ix_asks_question", "question"),
    Index("ix_asks_due_at", "due_at"),
)

# People who do not want to be asked.
opt_outs = Table(
    "opt_outs",
    metadata,
    Column("person", String(120), primary_key=True),  # platform:id
    Column("at", Moment, nullable=False),
)

# Files on their way into the knowledge, until the last one has its verdict.
intakes = Table(
    "intakes",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("claim", String(400), nullable=False, unique=True),  # what the person did, once
    Column("platform", String(40), nullable=False),
    Column("workspace", String(80), nullable=False),
    Column("channel", String(80), nullable=False),
    Column("thread", String(80), nullable=True),
    Column("author", String(80), nullable=False),
    Column("collection", String(80), nullable=False),
    Column("scope", String(200), nullable=False),
    Column("language", String(2), nullable=False),
    Column("files", JSON, nullable=False),  # name, ref and, once it was read, verdict
    Column("done", Boolean, nullable=False),
    Column("owner", String(80), nullable=True),
    Column("lease_until", Moment, nullable=True),
    Column("made_at", Moment, nullable=False),
    Index("ix_intakes_done", "done"),
)

# Datasets that are being added, or were; `author`: platform:id. One job at a time adds to a collection.
dataset_jobs = Table(
    "dataset_jobs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("collection", String(80), nullable=False),
    Column("scope", String(200), nullable=False),
    Column("author", String(160), nullable=False),
    Column("language", String(2), nullable=False),
    Column("choice", JSON, nullable=False),  # a dataset's name, or a file's id, name, columns and split
    Column("limits", JSON, nullable=False),
    Column("state", String(12), nullable=False),  # running | done | cancelled | failed
    Column("progress", JSON, nullable=False),  # of the last pass: counts, rows, characters, fetched, refusals
    Column("ended", String(12), nullable=True),
    Column("problem", Text, nullable=False),
    Column("tries", Integer, nullable=False),  # passes begun since one added something
    Column("owner", String(80), nullable=True),
    Column("lease_until", Moment, nullable=True),
    Column("started", Moment, nullable=False),
    Column("finished", Moment, nullable=True),
    Index(
        "ix_dataset_jobs_running",
        "collection",
        unique=True,
        sqlite_where=text("state = 'running'"),
        postgresql_where=text("state = 'running'"),
    ),
)

# Who changed what everybody reads, and with what result.
audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("actor", String(160), nullable=False),  # platform:id
    Column("action", String(40), nullable=False),
    Column("subject", Text, nullable=False),
    Column("result", Text, nullable=False),
    Index("ix_audit_at", "at"),
)

# How an answer came about, event by event; no passage's text. `event` is NULL from the first result on that held a
# document which is forgotten now, since the words that follow may be the document's.
traces = Table(
    "traces",
    metadata,
    Column("turn", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    Column("ms", Integer, nullable=False),  # since work on it was taken up, waiting included
    # began | thought | tool_call | tool_result | draft | reflection | answer
    Column("kind", String(12), nullable=False),
    Column("event", Text, nullable=True),  # JSON
)

# The documents that a turn found: which traces a forgotten one may be quoted in, and what each is good for.
sources = Table(
    "sources",
    metadata,
    Column("turn", ForeignKey("turns.id", ondelete="CASCADE"), primary_key=True),
    Column("document", String(32), primary_key=True),
    Column("ordinal", Integer, nullable=False),  # of the first result it was in
    Column("relevance", Float, nullable=False),  # the best, 0..1
    Column("cited", Boolean, nullable=False),
    Index("ix_sources_document", "document"),
)

# What figures are made of, without the texts beside it: a year of a busy team is summed up in a fraction of a second.
Index(
    "ix_answers_figures",
    answers.c.answered_at,
    answers.c.outcome,
    answers.c.seconds,
    answers.c.confidence,
    answers.c.model,
    answers.c.turn,
    answers.c.unsure,
)
Index(
    "ix_searches_figures",
    searches.c.at,
    searches.c.latency_ms,
    searches.c.top_score,
    searches.c.filtered_results,
    searches.c.error,
)
Index("ix_feedback_at", feedback.c.at)

# Q/A pairs being generated: from one document or from a collection (as it was named then), by one process at a time.
pair_jobs = Table(
    "pair_jobs",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("document", ForeignKey("documents.id", ondelete="CASCADE"), nullable=True),
    Column("collection", String(80), nullable=False),
    Column("model", String(120), nullable=False),
    Column("state", String(12), nullable=False),  # running | paused | done | cancelled
    Column("reason", String(20), nullable=False, default=""),  # of a pause
    Column("calls", Integer, nullable=False, default=0),
    Column("input_tokens", BigInteger, nullable=False, default=0),
    Column("output_tokens", BigInteger, nullable=False, default=0),
    Column("thought_tokens", BigInteger, nullable=False, default=0),
    Column("owner", String(80), nullable=True),
    Column("lease_until", Moment, nullable=True),  # a running one whose lease has passed was abandoned
    Column("made_at", Moment, nullable=False),
    Column("changed_at", Moment, nullable=False),
    Index("ix_pair_jobs_document", "document"),
)

# The chunks of a job, of the document's version that there was when it began. What is made of a document goes with it.
pair_chunks = Table(
    "pair_chunks",
    metadata,
    Column("job", ForeignKey("pair_jobs.id", ondelete="CASCADE"), primary_key=True),
    Column("place", Integer, primary_key=True),  # in the order of work
    Column("document", ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("version", String(64), nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("state", String(12), nullable=False),  # todo | done | blocked | failed | stale
    Column("dropped", Integer, nullable=False, default=0),  # pairs that the chunk does not say
    Index("ix_pair_chunks_document", "document"),
)

pairs = Table(
    "pairs",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("job", ForeignKey("pair_jobs.id", ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("position", Integer, nullable=False),  # among those of its chunk
    Column("document", ForeignKey("documents.id", ondelete="CASCADE"), nullable=False),
    Column("version", String(64), nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("state", String(12), nullable=False),  # pending | repeated | approved | rejected
    Column("marked", Boolean, nullable=False),  # only a reader can tell whether the chunk says it
    Column("edited", Boolean, nullable=False, default=False),
    Column("repeats", Integer, nullable=True),  # the pair that says the same
    Column("made_at", Moment, nullable=False),
    Column("decided_at", Moment, nullable=True),
    UniqueConstraint("job", "place", "position"),
    Index("ix_pairs_document", "document"),
    Index("ix_pairs_state", "state"),
    sqlite_autoincrement=True,  # an id on a page that is still open never becomes another pair's
)

# The documents that approved pairs are found in, by what they were made from; they outlive it for a moment. `document`
# NULL: it is not known whether it was added.
pair_documents = Table(
    "pair_documents",
    metadata,
    Column("source", String(32), primary_key=True),
    Column("part", Integer, primary_key=True),
    Column("collection", String(80), nullable=False),
    Column("scope", String(200), nullable=False),
    Column("name", String(400), nullable=False),
    Column("document", String(32), nullable=True),
)

# What is written in the browser's rooms, by people and by the bot. What the bot says is known by what it belongs to
# (`about`: a turn, an intake, a digest …), its kind and part, so that it is said once.
messages = Table(
    "messages",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("room", String(80), nullable=False),
    Column("thread", Integer, nullable=True),  # the root's id; NULL: it stands in the room itself
    Column("author", String(80), nullable=False),
    Column("kind", String(12), nullable=False),  # text | steps | answer | card | notice | intake | confirm | system
    Column("text", Text, nullable=False),
    Column("data", JSON, nullable=False),
    Column("about", String(80), nullable=True),  # NULL: a person wrote it
    Column("part", Integer, nullable=False, default=0),
    Column("created_at", Moment, nullable=False),
    Column("edited_at", Moment, nullable=True),
    Column("deleted_at", Moment, nullable=True),  # nothing is left of it but its place
    UniqueConstraint("about", "kind", "part"),
    Index("ix_messages_room", "room", "thread", "id"),
    Index("ix_messages_created_at", "created_at"),
    sqlite_autoincrement=True,  # an id is what a question is claimed by: never another message's
)

# Things that one process of this database does at a time, by their names.
leases = Table(
    "leases",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("owner", String(80), nullable=False),
    Column("until", Moment, nullable=False),
)

# Limits that the processes of this database keep together: when each has all its calls again.
rates = Table(
    "rates",
    metadata,
    Column("name", String(120), primary_key=True),
    Column("full_at", Moment, nullable=False),
)
