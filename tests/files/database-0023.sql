BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0023');
CREATE TABLE answers (
	turn VARCHAR(32) NOT NULL, 
	text TEXT NOT NULL, 
	outcome VARCHAR(12) NOT NULL, 
	citations JSON NOT NULL, 
	model VARCHAR(120) NOT NULL, 
	seconds FLOAT NOT NULL, 
	calls INTEGER NOT NULL, 
	input_tokens INTEGER NOT NULL, 
	output_tokens INTEGER NOT NULL, 
	thought_tokens INTEGER NOT NULL, 
	searched JSON NOT NULL, 
	confidence FLOAT, 
	marked BOOLEAN NOT NULL, 
	answered_at DATETIME NOT NULL, unsure BOOLEAN DEFAULT 0 NOT NULL, changes JSON, show_at DATETIME, 
	CONSTRAINT pk_answers PRIMARY KEY (turn), 
	CONSTRAINT fk_answers_turn FOREIGN KEY(turn) REFERENCES turns (id) ON DELETE CASCADE
);
INSERT INTO "answers" VALUES('tttttttttttttttttttttttttttttttt','25日です。[1]','answered','[{"n": 1, "document": "\u7d4c\u8cbb.md", "collection": "handbook", "chunk": 0, "quote": "\u6bce\u670825\u65e5", "url": null, "date": null, "title": "", "checked": null, "said_in": ""}]','',0.0,0,0,0,0,'[]',0.3,0,'2026-11-21 12:00:00.000000',1,NULL,NULL);
CREATE TABLE asks (
	turn VARCHAR(32) NOT NULL, 
	question INTEGER NOT NULL, 
	"by" VARCHAR(120) NOT NULL, 
	recipient VARCHAR(120) NOT NULL, 
	reason VARCHAR(12) NOT NULL, 
	platform VARCHAR(40) NOT NULL, 
	workspace VARCHAR(80) NOT NULL, 
	channel VARCHAR(80) NOT NULL, 
	asked_at DATETIME NOT NULL, 
	due_at DATETIME NOT NULL, 
	sent_at DATETIME, 
	CONSTRAINT pk_asks PRIMARY KEY (turn), 
	CONSTRAINT fk_asks_turn FOREIGN KEY(turn) REFERENCES turns (id) ON DELETE CASCADE, 
	CONSTRAINT fk_asks_question FOREIGN KEY(question) REFERENCES questions (id) ON DELETE CASCADE
);
INSERT INTO "asks" VALUES('tttttttttttttttttttttttttttttttt',1,'slack:U1','slack:U4','owner','slack','T1','C1','2026-11-21 12:00:00.000000','2026-11-21 12:00:00.000000',NULL);
CREATE TABLE audit (
	id INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	actor VARCHAR(160) NOT NULL, 
	action VARCHAR(40) NOT NULL, 
	subject TEXT NOT NULL, 
	result TEXT NOT NULL, 
	CONSTRAINT pk_audit PRIMARY KEY (id)
);
INSERT INTO "audit" VALUES(1,'2026-11-27 20:44:45.213382','slack:U1','source add','hall','on');
INSERT INTO "audit" VALUES(2,'2026-11-27 20:44:45.263167','slack:U1','token add','editor','team');
INSERT INTO "audit" VALUES(3,'2026-11-21 12:00:00.000000','slack:U1','teach','経費の締切は？','answered');
INSERT INTO "audit" VALUES(4,'2026-11-21 12:00:00.000000','slack:U1','teach','経費の締切は？','answered');
CREATE TABLE changed_documents (
	document VARCHAR(32) NOT NULL, 
	name VARCHAR(400) NOT NULL, 
	"before" VARCHAR(64), 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_changed_documents PRIMARY KEY (document)
);
INSERT INTO "changed_documents" VALUES('dddddddddddddddddddddddddddddddd','経費.md','m','2026-11-27 20:44:45.108417');
CREATE TABLE collections (
	name VARCHAR(80) NOT NULL, 
	description TEXT NOT NULL, 
	created_at DATETIME NOT NULL, owner VARCHAR(120), 
	CONSTRAINT pk_collections PRIMARY KEY (name)
);
INSERT INTO "collections" VALUES('handbook','','2026-11-27 20:44:45.069826',NULL);
CREATE TABLE contents (
	address VARCHAR(64) NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_contents PRIMARY KEY (address)
);
INSERT INTO "contents" VALUES('mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm',X'23204C65617665');
CREATE TABLE dataset_jobs (
	id VARCHAR(32) NOT NULL, 
	collection VARCHAR(80) NOT NULL, 
	scope VARCHAR(200) NOT NULL, 
	author VARCHAR(160) NOT NULL, 
	language VARCHAR(2) NOT NULL, 
	choice JSON NOT NULL, 
	limits JSON NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	progress JSON NOT NULL, 
	ended VARCHAR(12), 
	problem TEXT NOT NULL, 
	tries INTEGER NOT NULL, 
	owner VARCHAR(80), 
	lease_until DATETIME, 
	started DATETIME NOT NULL, 
	finished DATETIME, 
	CONSTRAINT pk_dataset_jobs PRIMARY KEY (id)
);
INSERT INTO "dataset_jobs" VALUES('dddddddddddddddddddddddddddddddd','港','team','web:aki','ja','{"id": "ffffffffffffffffffffffffffffffff", "name": "\u6e2f.csv", "columns": {"text": ["\u672c\u6587"], "title": null, "url": null, "id": null}, "split": null}','{"documents": 1000, "characters": 50000000, "bytes": 2147483648, "rows": 1000000, "sieve": {"shortest": 50, "longest": 200000}}','running','{"counts": {}, "rows": 0, "characters": 0, "fetched": 0, "refusals": []}',NULL,'',0,'me','2026-11-21 12:00:00.000000','2026-11-21 12:00:00.000000',NULL);
CREATE TABLE digests (
	due DATETIME NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	attempts INTEGER NOT NULL, 
	owner VARCHAR(80), 
	lease_until DATETIME, 
	sent_at DATETIME, 
	CONSTRAINT pk_digests PRIMARY KEY (due)
);
INSERT INTO "digests" VALUES('2026-11-21 12:00:00.000000','sent',1,'me','2026-11-21 12:15:00.000000','2026-11-21 12:00:00.000000');
CREATE TABLE documents (
	id VARCHAR(32) NOT NULL, 
	collection VARCHAR(80) NOT NULL, 
	scope VARCHAR(200) NOT NULL, 
	name VARCHAR(400) NOT NULL, 
	title TEXT NOT NULL, 
	url TEXT, 
	hash VARCHAR(64) NOT NULL, 
	markdown VARCHAR(64) NOT NULL, 
	chunks INTEGER NOT NULL, 
	language VARCHAR(2) NOT NULL, 
	author VARCHAR(80) NOT NULL, 
	born INTEGER NOT NULL, 
	added_at DATETIME NOT NULL, 
	updated_at DATETIME NOT NULL, changed_at VARCHAR(10), owner VARCHAR(120), said_in VARCHAR(120), 
	CONSTRAINT pk_documents PRIMARY KEY (id), 
	CONSTRAINT uq_documents_collection UNIQUE (collection, scope, name)
);
INSERT INTO "documents" VALUES('dddddddddddddddddddddddddddddddd','handbook','team','経費.md','経費',NULL,'h','m2',3,'ja','U1',1,'2026-11-21 12:00:00.000000','2026-11-21 12:00:00.000000',NULL,'slack:U4',NULL);
CREATE TABLE erasures (
	id VARCHAR(32) NOT NULL, 
	platform VARCHAR(40) NOT NULL, 
	person VARCHAR(80) NOT NULL, 
	turns JSON NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_erasures PRIMARY KEY (id)
);
INSERT INTO "erasures" VALUES('4a8bed77a4004c9483ebd5c7cbefcbc3','slack','U9','["t1"]','2026-11-27 20:44:45.559858');
CREATE TABLE feedback (
	turn VARCHAR(32) NOT NULL, 
	author VARCHAR(80) NOT NULL, 
	vote VARCHAR(4) NOT NULL, 
	reason VARCHAR(20), 
	text TEXT NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_feedback PRIMARY KEY (turn, author), 
	CONSTRAINT fk_feedback_turn FOREIGN KEY(turn) REFERENCES turns (id) ON DELETE CASCADE
);
INSERT INTO "feedback" VALUES('tttttttttttttttttttttttttttttttt','U2','down','outdated','古いです','2026-11-21 12:00:00.000000');
CREATE TABLE followed (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(80) NOT NULL, 
	kind VARCHAR(12) NOT NULL, 
	location TEXT NOT NULL, 
	options JSON NOT NULL, 
	collection VARCHAR(80) NOT NULL, 
	scope VARCHAR(200) NOT NULL, 
	every INTEGER NOT NULL, 
	added_by VARCHAR(120) NOT NULL, 
	added_at DATETIME NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	gone INTEGER NOT NULL, 
	cursor TEXT, 
	failures INTEGER NOT NULL, 
	trouble JSON, 
	checked_at DATETIME, 
	due_at DATETIME NOT NULL, 
	owner VARCHAR(80), 
	lease_until DATETIME, 
	CONSTRAINT pk_followed PRIMARY KEY (id), 
	CONSTRAINT uq_followed_name UNIQUE (name)
);
INSERT INTO "followed" VALUES('55555555555555555555555555555555','hall','git','https://git.example/hall','{"branch": "main"}','handbook','team',30,'slack:U1','2026-11-21 12:00:00.000000','on',0,'6666666666666666666666666666666666666666',0,'{"en": "Gone.", "ja": "\u3042\u308a\u307e\u305b\u3093\u3002"}',NULL,'2026-11-21 12:00:00.000000',NULL,NULL);
CREATE TABLE followed_pages (
	source VARCHAR(32) NOT NULL, 
	ref VARCHAR(1000) NOT NULL, 
	version VARCHAR(200) NOT NULL, 
	document VARCHAR(32), 
	refusal JSON, due_at DATETIME, people TEXT, 
	CONSTRAINT pk_followed_pages PRIMARY KEY (source, ref), 
	CONSTRAINT fk_followed_pages_source FOREIGN KEY(source) REFERENCES followed (id) ON DELETE CASCADE
);
INSERT INTO "followed_pages" VALUES('55555555555555555555555555555555','docs/keihi.md','7777777777777777777777777777777777777777','dddddddddddddddddddddddddddddddd','null',NULL,NULL);
INSERT INTO "followed_pages" VALUES('55555555555555555555555555555555','1790000001.000100','2026','dddddddddddddddddddddddddddddddd','null','2026-11-21 12:00:00.000000',' slack:U1 ');
CREATE TABLE held_files (
	"key" VARCHAR(32) NOT NULL, 
	part INTEGER NOT NULL, 
	data BLOB NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_held_files PRIMARY KEY ("key", part)
);
INSERT INTO "held_files" VALUES('12145906cd0749dda4f793d7a41e335e',0,X'2320506C616E','2026-11-27 20:44:45.547657');
CREATE TABLE home (
	place INTEGER NOT NULL, 
	id VARCHAR(32) NOT NULL, 
	made_at DATETIME NOT NULL, team VARCHAR(120), 
	CONSTRAINT pk_home PRIMARY KEY (place)
);
INSERT INTO "home" VALUES(1,'ffffffffffffffffffffffffffffffff','2026-11-27 20:44:45.504740','discord:1');
CREATE TABLE indexes (
	embedder VARCHAR(200) NOT NULL, 
	dimensions INTEGER NOT NULL, 
	tokenizer VARCHAR(80) NOT NULL, 
	generation INTEGER NOT NULL, committer VARCHAR(80), 
	CONSTRAINT pk_indexes PRIMARY KEY (embedder)
);
INSERT INTO "indexes" VALUES('e5',384,'t1',2,NULL);
CREATE TABLE intakes (
	id VARCHAR(32) NOT NULL, 
	claim VARCHAR(400) NOT NULL, 
	platform VARCHAR(40) NOT NULL, 
	workspace VARCHAR(80) NOT NULL, 
	channel VARCHAR(80) NOT NULL, 
	thread VARCHAR(80), 
	author VARCHAR(80) NOT NULL, 
	collection VARCHAR(80) NOT NULL, 
	scope VARCHAR(200) NOT NULL, 
	language VARCHAR(2) NOT NULL, 
	files JSON NOT NULL, 
	done BOOLEAN NOT NULL, 
	owner VARCHAR(80), 
	lease_until DATETIME, 
	made_at DATETIME NOT NULL, 
	CONSTRAINT pk_intakes PRIMARY KEY (id), 
	CONSTRAINT uq_intakes_claim UNIQUE (claim)
);
INSERT INTO "intakes" VALUES('iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii','slack:1','slack','T1','C1',NULL,'U1','handbook','team','ja','[{"name": "\u7d4c\u8cbb.pdf", "ref": {"file": "F1"}, "over": false}]',0,'me','2026-11-21 12:00:15.000000','2026-11-21 12:00:00.000000');
CREATE TABLE leases (
	name VARCHAR(80) NOT NULL, 
	owner VARCHAR(80) NOT NULL, 
	until DATETIME NOT NULL, 
	CONSTRAINT pk_leases PRIMARY KEY (name)
);
INSERT INTO "leases" VALUES('discord','me','2026-11-21 12:00:15.000000');
CREATE TABLE messages (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	room VARCHAR(80) NOT NULL, 
	thread INTEGER, 
	author VARCHAR(80) NOT NULL, 
	kind VARCHAR(12) NOT NULL, 
	text TEXT NOT NULL, 
	data JSON NOT NULL, 
	about VARCHAR(80), 
	part INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	edited_at DATETIME, 
	deleted_at DATETIME, 
	CONSTRAINT uq_messages_about UNIQUE (about, kind, part)
);
INSERT INTO "messages" VALUES(1,'general',NULL,'aki','text','@kotae 経費の締切は？','{"strategy": "react"}',NULL,0,'2026-11-27 20:44:45.632855',NULL,NULL);
INSERT INTO "messages" VALUES(2,'general',1,'kotae','answer','25日です。[1]','{"outcome": "answered"}','tttttttttttttttttttttttttttttttt',0,'2026-11-27 20:44:45.642288',NULL,NULL);
CREATE TABLE moves (
	id INTEGER NOT NULL, 
	source VARCHAR(80) NOT NULL, 
	"into" VARCHAR(80) NOT NULL, 
	CONSTRAINT pk_moves PRIMARY KEY (id)
);
INSERT INTO "moves" VALUES(1,'old','handbook');
CREATE TABLE notices (
	id INTEGER NOT NULL, 
	turn VARCHAR(32) NOT NULL, 
	question TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	"by" VARCHAR(120), 
	owner VARCHAR(80), 
	lease_until DATETIME, 
	attempts INTEGER NOT NULL, 
	made_at DATETIME NOT NULL, corrects BOOLEAN, of_page BOOLEAN, 
	CONSTRAINT pk_notices PRIMARY KEY (id), 
	CONSTRAINT fk_notices_turn FOREIGN KEY(turn) REFERENCES turns (id) ON DELETE CASCADE, 
	CONSTRAINT uq_notices_turn UNIQUE (turn)
);
INSERT INTO "notices" VALUES(225312996,'tttttttttttttttttttttttttttttttt','経費の締切は？','毎月25日です。','slack:U3',NULL,NULL,0,'2026-11-21 12:00:00.000000',0,NULL);
CREATE TABLE opt_outs (
	person VARCHAR(120) NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_opt_outs PRIMARY KEY (person)
);
INSERT INTO "opt_outs" VALUES('slack:U5','2026-11-21 12:00:00.000000');
CREATE TABLE pair_chunks (
	job VARCHAR(32) NOT NULL, 
	place INTEGER NOT NULL, 
	document VARCHAR(32) NOT NULL, 
	version VARCHAR(64) NOT NULL, 
	chunk INTEGER NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	dropped INTEGER NOT NULL, 
	CONSTRAINT pk_pair_chunks PRIMARY KEY (job, place), 
	CONSTRAINT fk_pair_chunks_job FOREIGN KEY(job) REFERENCES pair_jobs (id) ON DELETE CASCADE, 
	CONSTRAINT fk_pair_chunks_document FOREIGN KEY(document) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "pair_chunks" VALUES('jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj',0,'dddddddddddddddddddddddddddddddd','h',0,'done',0);
CREATE TABLE pair_documents (
	source VARCHAR(32) NOT NULL, 
	part INTEGER NOT NULL, 
	collection VARCHAR(80) NOT NULL, 
	scope VARCHAR(200) NOT NULL, 
	name VARCHAR(400) NOT NULL, 
	document VARCHAR(32), 
	CONSTRAINT pk_pair_documents PRIMARY KEY (source, part)
);
INSERT INTO "pair_documents" VALUES('dddddddddddddddddddddddddddddddd',0,'handbook','team','Q&A: 経費.md.json',NULL);
CREATE TABLE pair_jobs (
	id VARCHAR(32) NOT NULL, 
	document VARCHAR(32), 
	collection VARCHAR(80) NOT NULL, 
	model VARCHAR(120) NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	reason VARCHAR(20) NOT NULL, 
	calls INTEGER NOT NULL, 
	input_tokens BIGINT NOT NULL, 
	output_tokens BIGINT NOT NULL, 
	thought_tokens BIGINT NOT NULL, 
	owner VARCHAR(80), 
	lease_until DATETIME, 
	made_at DATETIME NOT NULL, 
	changed_at DATETIME NOT NULL, 
	CONSTRAINT pk_pair_jobs PRIMARY KEY (id), 
	CONSTRAINT fk_pair_jobs_document FOREIGN KEY(document) REFERENCES documents (id) ON DELETE CASCADE
);
INSERT INTO "pair_jobs" VALUES('jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj','dddddddddddddddddddddddddddddddd','handbook','gemini:gemini-3.8-flash','running','',1,400,60,20,'me','2026-11-21 12:00:15.000000','2026-11-21 12:00:00.000000','2026-11-21 12:00:00.000000');
CREATE TABLE pairs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	job VARCHAR(32) NOT NULL, 
	place INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	document VARCHAR(32) NOT NULL, 
	version VARCHAR(64) NOT NULL, 
	chunk INTEGER NOT NULL, 
	question TEXT NOT NULL, 
	answer TEXT NOT NULL, 
	state VARCHAR(12) NOT NULL, 
	marked BOOLEAN NOT NULL, 
	edited BOOLEAN NOT NULL, 
	repeats INTEGER, 
	made_at DATETIME NOT NULL, 
	decided_at DATETIME, 
	CONSTRAINT fk_pairs_job FOREIGN KEY(job) REFERENCES pair_jobs (id) ON DELETE CASCADE, 
	CONSTRAINT fk_pairs_document FOREIGN KEY(document) REFERENCES documents (id) ON DELETE CASCADE, 
	CONSTRAINT uq_pairs_job UNIQUE (job, place, position)
);
INSERT INTO "pairs" VALUES(1,'jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj',0,0,'dddddddddddddddddddddddddddddddd','h',0,'経費の締切はいつですか？','毎月25日です。','pending',0,0,NULL,'2026-11-21 12:00:00.000000',NULL);
CREATE TABLE places (
	platform VARCHAR(40) NOT NULL, 
	workspace VARCHAR(80) NOT NULL, 
	channel VARCHAR(80) NOT NULL, 
	model VARCHAR(120), 
	strategy VARCHAR(40), 
	steps VARCHAR(12), 
	collections JSON, 
	changed_at DATETIME NOT NULL, follow VARCHAR(12), 
	CONSTRAINT pk_places PRIMARY KEY (platform, workspace, channel)
);
INSERT INTO "places" VALUES('slack','T1','C1',NULL,NULL,'off','["handbook"]','2026-11-27 20:44:45.312451',NULL);
CREATE TABLE posts (
	about VARCHAR(80) NOT NULL, 
	kind VARCHAR(12) NOT NULL, 
	part INTEGER NOT NULL, 
	platform VARCHAR(40) NOT NULL, 
	workspace VARCHAR(80) NOT NULL, 
	channel VARCHAR(80) NOT NULL, 
	thread VARCHAR(80), 
	message VARCHAR(80), 
	data JSON NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_posts PRIMARY KEY (about, kind, part)
);
INSERT INTO "posts" VALUES('tttttttttttttttttttttttttttttttt','answer',0,'slack','T1','C1','1.0','2.0','{}','2026-11-27 20:44:45.350916');
CREATE TABLE processes (
	id VARCHAR(80) NOT NULL, 
	embedded BOOLEAN NOT NULL, 
	started_at DATETIME NOT NULL, 
	until DATETIME NOT NULL, 
	CONSTRAINT pk_processes PRIMARY KEY (id)
);
INSERT INTO "processes" VALUES('machine:1:a',0,'2026-11-27 20:44:45.065216','2026-11-27 20:45:15.065216');
CREATE TABLE "questions" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	turn VARCHAR(32) NOT NULL, 
	question TEXT NOT NULL, 
	reason VARCHAR(20) NOT NULL, 
	detail TEXT NOT NULL, 
	searched JSON NOT NULL, 
	confidence FLOAT, 
	scope VARCHAR(200) NOT NULL, 
	link TEXT, 
	asked_at DATETIME NOT NULL, 
	resolved_at DATETIME, resolution VARCHAR(12), answer VARCHAR(32), reopened_at DATETIME, 
	CONSTRAINT fk_questions_turn FOREIGN KEY(turn) REFERENCES turns (id) ON DELETE CASCADE, 
	CONSTRAINT uq_questions_turn UNIQUE (turn, reason)
);
INSERT INTO "questions" VALUES(1,'tttttttttttttttttttttttttttttttt','経費の締切は？','low_confidence','','["handbook"]',0.3,'team',NULL,'2026-11-21 12:00:00.000000','2026-11-21 12:00:00.000000','answered',NULL,NULL);
INSERT INTO "questions" VALUES(2,'tttttttttttttttttttttttttttttttt','経費の締切は？','reported','outdated: 古いです','[]',0.3,'place:slack:T1:C1','https://x.y/z','2026-11-21 12:00:00.000000',NULL,NULL,NULL,NULL);
CREATE TABLE rates (
	name VARCHAR(120) NOT NULL, 
	full_at DATETIME NOT NULL, 
	CONSTRAINT pk_rates PRIMARY KEY (name)
);
INSERT INTO "rates" VALUES('slack:chat.update','2026-11-27 20:44:47.101306');
CREATE TABLE refusals (
	turn VARCHAR(32) NOT NULL, 
	reason VARCHAR(20) NOT NULL, 
	CONSTRAINT pk_refusals PRIMARY KEY (turn), 
	CONSTRAINT fk_refusals_turn FOREIGN KEY(turn) REFERENCES turns (id) ON DELETE CASCADE
);
INSERT INTO "refusals" VALUES('tttttttttttttttttttttttttttttttt','user');
CREATE TABLE retention_clock (
	place INTEGER NOT NULL, 
	believed_at DATETIME, 
	doubted_at DATETIME, 
	CONSTRAINT pk_retention_clock PRIMARY KEY (place)
);
INSERT INTO "retention_clock" VALUES(1,NULL,'2026-11-21 12:00:00.000000');
CREATE TABLE searches (
	id INTEGER NOT NULL, 
	"query" TEXT NOT NULL, 
	collection VARCHAR(400) NOT NULL, 
	latency_ms FLOAT NOT NULL, 
	total_results INTEGER NOT NULL, 
	filtered_results INTEGER NOT NULL, 
	top_score FLOAT NOT NULL, 
	scores JSON NOT NULL, 
	error TEXT, 
	scope VARCHAR(200) NOT NULL, 
	at DATETIME NOT NULL, turn VARCHAR(32), 
	CONSTRAINT pk_searches PRIMARY KEY (id)
);
INSERT INTO "searches" VALUES(1,'経費','handbook',5.0,9,3,0.8,'[0.8]',NULL,'team','2026-11-21 12:00:00.000000','tttttttttttttttttttttttttttttttt');
CREATE TABLE sources (
	turn VARCHAR(32) NOT NULL, 
	document VARCHAR(32) NOT NULL, 
	ordinal INTEGER NOT NULL, 
	relevance FLOAT NOT NULL, 
	cited BOOLEAN NOT NULL, 
	CONSTRAINT pk_sources PRIMARY KEY (turn, document), 
	CONSTRAINT fk_sources_turn FOREIGN KEY(turn) REFERENCES turns (id) ON DELETE CASCADE
);
INSERT INTO "sources" VALUES('tttttttttttttttttttttttttttttttt','dddddddddddddddddddddddddddddddd',1,0.3,1);
CREATE TABLE tokens (
	name VARCHAR(80) NOT NULL, 
	digest VARCHAR(64) NOT NULL, 
	audience VARCHAR(12) NOT NULL, 
	per_minute INTEGER NOT NULL, 
	per_day INTEGER NOT NULL, 
	added_by VARCHAR(120) NOT NULL, 
	added_at DATETIME NOT NULL, 
	used_on DATE, 
	calls INTEGER NOT NULL, 
	misses INTEGER NOT NULL, 
	CONSTRAINT pk_tokens PRIMARY KEY (name), 
	CONSTRAINT uq_tokens_digest UNIQUE (digest)
);
INSERT INTO "tokens" VALUES('editor','8888888888888888888888888888888888888888888888888888888888888888','team',30,2000,'slack:U1','2026-11-21 12:00:00.000000',NULL,0,0);
CREATE TABLE traces (
	turn VARCHAR(32) NOT NULL, 
	ordinal INTEGER NOT NULL, 
	ms INTEGER NOT NULL, 
	kind VARCHAR(12) NOT NULL, 
	event TEXT, 
	CONSTRAINT pk_traces PRIMARY KEY (turn, ordinal), 
	CONSTRAINT fk_traces_turn FOREIGN KEY(turn) REFERENCES turns (id) ON DELETE CASCADE
);
INSERT INTO "traces" VALUES('tttttttttttttttttttttttttttttttt',0,0,'thought','{"text": "探します。"}');
INSERT INTO "traces" VALUES('tttttttttttttttttttttttttttttttt',1,0,'tool_result','{"id": "1", "name": "search_rag_knowledge_base", "summary": "1 件", "failed": false, "hits": [{"collection": "handbook", "document_id": "dddddddddddddddddddddddddddddddd", "chunk": 0, "relevance": 0.3, "scores": {"dense": 0.8}, "mark": "b615c6da5f707ef9"}]}');
INSERT INTO "traces" VALUES('tttttttttttttttttttttttttttttttt',2,0,'answer','{"outcome": "answered", "unsure": true, "marked": false, "cited": [["dddddddddddddddddddddddddddddddd", 0]]}');
CREATE TABLE turns (
	sequence INTEGER NOT NULL, 
	id VARCHAR(32) NOT NULL, 
	claim VARCHAR(400) NOT NULL, 
	platform VARCHAR(40) NOT NULL, 
	workspace VARCHAR(80) NOT NULL, 
	channel VARCHAR(80) NOT NULL, 
	thread VARCHAR(80) NOT NULL, 
	message VARCHAR(80) NOT NULL, 
	author VARCHAR(80) NOT NULL, 
	text TEXT NOT NULL, 
	audience VARCHAR(20) NOT NULL, 
	language VARCHAR(2), 
	link TEXT, 
	model VARCHAR(120), 
	strategy VARCHAR(40), 
	collections JSON, 
	state VARCHAR(12) NOT NULL, 
	attempts INTEGER NOT NULL, 
	owner VARCHAR(80), 
	lease_until DATETIME, 
	claimed_at DATETIME NOT NULL, 
	finished_at DATETIME, edits INTEGER DEFAULT '0' NOT NULL, deleted_at DATETIME, 
	CONSTRAINT pk_turns PRIMARY KEY (sequence), 
	CONSTRAINT uq_turns_claim UNIQUE (claim), 
	CONSTRAINT uq_turns_id UNIQUE (id)
);
INSERT INTO "turns" VALUES(1,'tttttttttttttttttttttttttttttttt','slackT1C11.0','slack','T1','C1','1.0','1.0','U1','経費の締切は？','private',NULL,'https://x.y/z',NULL,NULL,'null','done',1,NULL,NULL,'2026-11-21 12:00:00.000000','2026-11-21 12:00:00.000000',0,NULL);
CREATE TABLE unheard (
	person VARCHAR(64) NOT NULL, 
	at DATETIME NOT NULL, 
	CONSTRAINT pk_unheard PRIMARY KEY (person)
);
INSERT INTO "unheard" VALUES('3822ac3d34b5c9b3f29febd8d63b1f77dd1315ae64a3f791de8b43e8e365d619','2026-11-21 12:00:00.000000');
CREATE TABLE usage (
	day DATE NOT NULL, 
	model VARCHAR(120) NOT NULL, 
	calls INTEGER NOT NULL, 
	input_tokens BIGINT NOT NULL, 
	output_tokens BIGINT NOT NULL, 
	thought_tokens BIGINT NOT NULL, 
	CONSTRAINT pk_usage PRIMARY KEY (day, model)
);
INSERT INTO "usage" VALUES('2026-11-21','gemini:gemini-3.8-flash',3,1200,90,40);
CREATE INDEX ix_searches_at ON searches (at);
CREATE INDEX ix_turns_state ON turns (state);
CREATE INDEX ix_turns_thread ON turns (platform, workspace, channel, thread, sequence);
CREATE INDEX ix_turns_pace ON turns (platform, workspace, claimed_at);
CREATE INDEX ix_posts_message ON posts (platform, workspace, channel, message);
CREATE INDEX ix_posts_at ON posts (at);
CREATE INDEX ix_intakes_done ON intakes (done);
CREATE INDEX ix_audit_at ON audit (at);
CREATE INDEX ix_questions_asked_at ON questions (asked_at);
CREATE INDEX ix_sources_document ON sources (document);
CREATE INDEX ix_searches_figures ON searches (at, latency_ms, top_score, filtered_results, error);
CREATE INDEX ix_feedback_at ON feedback (at);
CREATE INDEX ix_pair_jobs_document ON pair_jobs (document);
CREATE INDEX ix_pair_chunks_document ON pair_chunks (document);
CREATE INDEX ix_pairs_document ON pairs (document);
CREATE INDEX ix_pairs_state ON pairs (state);
CREATE INDEX ix_messages_room ON messages (room, thread, id);
CREATE INDEX ix_messages_created_at ON messages (created_at);
CREATE INDEX ix_questions_answer ON questions (answer);
CREATE INDEX ix_questions_reopened_at ON questions (reopened_at);
CREATE INDEX ix_answers_figures ON answers (answered_at, outcome, seconds, confidence, model, turn, unsure);
CREATE INDEX ix_turns_deleted_at ON turns (deleted_at);
CREATE INDEX ix_asks_question ON asks (question);
CREATE INDEX ix_asks_due_at ON asks (due_at);
CREATE INDEX ix_followed_pages_document ON followed_pages (document);
CREATE INDEX ix_changed_documents_at ON changed_documents (at);
CREATE INDEX ix_answers_show_at ON answers (show_at);
CREATE INDEX ix_followed_pages_due_at ON followed_pages (due_at);
CREATE INDEX ix_held_files_at ON held_files (at);
CREATE UNIQUE INDEX ix_dataset_jobs_running ON dataset_jobs (collection) WHERE state = 'running';
CREATE INDEX ix_searches_turn ON searches (turn);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('questions',2);
INSERT INTO "sqlite_sequence" VALUES('pairs',1);
INSERT INTO "sqlite_sequence" VALUES('messages',2);
COMMIT;
