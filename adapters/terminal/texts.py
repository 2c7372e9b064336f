"""Texts of the terminal channel itself."""

from retrieval.i18n import Text

WELCOME = Text(
    en="Ask a question about the documents. /help lists the commands; Ctrl-D ends.",
    ja="文書について質問してください。/help でコマンドの一覧、Ctrl-D で終了です。",
)
HELP = Text(
    en="""\
/new                      start a new thread (a new conversation)
/threads, /thread N       list the threads, go to one
/sources [N]              the last answer's sources; the passage behind [N]
/up                       the last answer was good
/down [REASON] [TEXT]     it was not: wrong, outdated, incomplete or wrong_source
/ask                      bring the last question to a person who may know
/ingest PATH              add a file or folder to the documents
/unanswered               questions nobody could answer yet
/help, /quit              show this list; leave
Ctrl-C stops the running answer, Ctrl-D ends.""",
    ja="""\
/new                      新しいスレッド（会話）を開始
/threads, /thread N       スレッドの一覧と切り替え
/sources [N]              直前の回答の出典。番号を付けると該当箇所を表示
/up                       直前の回答は役に立った
/down [理由] [コメント]   役に立たなかった（理由: 間違い・古い・不足・出典違い。
                          wrong, outdated, incomplete, wrong_source でも可）
/ask                      直前の質問を、答えられそうな担当者に届ける
/ingest パス              ファイルやフォルダーを文書に追加
/unanswered               未回答の質問
/help, /quit              この一覧の表示、終了
Ctrl-C で回答を中断、Ctrl-D で終了します。""",
)
INTERRUPTED = Text(
    en="This question was interrupted last time: “{question}” It is answered now.",
    ja="前回、次の質問への回答が中断されました:「{question}」いまお答えします。",
)
WORKING = Text(en="Thinking…", ja="考えています…")
CANCELLED = Text(en="Stopped.", ja="中断しました。")
NOT_DONE = Text(en="That did not work: {why}", ja="できませんでした: {why}")
HOW_TO_LEAVE = Text(en="\nCtrl-D or /quit ends.", ja="\n終了するには Ctrl-D か /quit を入力してください。")
UNKNOWN = Text(
    en="There is no command {command}. /help lists them.",
    ja="{command} というコマンドはありません。/help で一覧を表示します。",
)

OPENED = Text(en="Thread {n} is open.", ja="スレッド {n} を開きました。")
SWITCHED = Text(en="Thread {n}: {first}", ja="スレッド {n}: {first}")
WHICH_THREAD = Text(
    en="Which thread? /thread 1 to /thread {n}.", ja="スレッドの番号を 1 から {n} で指定してください（例: /thread 1）。"
)

NO_ANSWER_YET = Text(
    en="There is no answer in this thread to rate yet.", ja="このスレッドには、評価できる回答がまだありません。"
)
ASK_HINT = Text(en="/ask brings it to a person who may know.", ja="/ask で、答えられそうな担当者に質問を届けます。")
NO_QUESTION_YET = Text(
    en="There is no question in this thread to bring to anybody yet.",
    ja="このスレッドには、届けられる質問がまだありません。",
)
ASK_YES = Text(en="/ask yes: {offer}", ja="/ask yes: {offer}")
THANKS = Text(en="Thank you.", ja="ありがとうございます。")
REPORTED = Text(
    en="Thank you. The question is now on the list of those to be answered better.",
    ja="ありがとうございます。回答を改善すべき質問として記録しました。",
)
NO_SOURCES = Text(en="The last answer has no sources.", ja="直前の回答に出典はありません。")
WHICH_SOURCE = Text(en="Which source? There are {numbers}.", ja="出典の番号を指定してください: {numbers}")

WHICH_FILE = Text(
    en="Which file or folder? /ingest PATH", ja="ファイルまたはフォルダーを指定してください: /ingest パス"
)
EMPTY_FOLDER = Text(en="There are no files in {name}.", ja="{name} にファイルがありません。")
NONE_UNANSWERED = Text(en="No open questions.", ja="未回答の質問はありません。")
HIDDEN = Text(en="and {n} more, asked in private places", ja="ほかに、非公開の場所で聞かれた質問が {n} 件あります。")
