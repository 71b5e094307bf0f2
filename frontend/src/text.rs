//! Every sentence and label that the page shows, in each of its languages, side by side.
//!
//! What the server says of one request or one turn comes from the server in English. Where it gives a stable code with
//! it, the page says it in its own language (`problem`, `turn_error`).

mod greeting;
mod sentences;

use tallybook_markdown::Labels;

pub(crate) use greeting::Greeting;

use crate::language::Language;

/// The product's name.
pub(crate) const PRODUCT: &str = "Tallybook";

/// The settings named in the demo notice: each chooses a provider by being set.
pub(crate) const DEMO_SETTINGS: [&str; 2] = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];

/// Makes one function for each line: its name, the words in English, the words in Japanese; and one for tests, whose name
/// comes first, that gives them all.
macro_rules! texts {
    ($all:ident; $($(#[$attribute:meta])* $name:ident: $english:literal, $japanese:literal;)*) => {
        impl Language {
            $($(#[$attribute])*
            pub(crate) const fn $name(self) -> &'static str {
                match self {
                    Self::English => $english,
                    Self::Japanese => $japanese,
                }
            })*

            /// All of the above, for tests.
            #[cfg(test)]
            pub(super) fn $all(self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($name), self.$name())),*]
            }
        }
    };
}

// What follows knows the macro.
mod look;
mod plan;
mod playback;
mod settings;
#[cfg(feature = "ssr")]
mod shared;
mod sharing;
mod tools;

texts! {
    all_texts;

    // The list of conversations.
    new_chat: "New chat", "新しいチャット";
    conversations: "Conversations", "会話";
    no_conversations: "Your conversations will be listed here.", "会話を始めると、ここに並びます。";
    search: "Search titles and messages", "タイトルとメッセージを検索";
    nothing_found: "No conversation matches.", "一致する会話がありません。";
    found_in_messages: "In messages", "メッセージ内";
    searching: "Searching…", "検索しています…";
    searching_on: "Still searching, further back…", "さらに古いメッセージを検索しています…";
    search_on: "Search further back", "さらに古いメッセージを検索";
    nothing_in_messages: "Nothing in messages or tool calls. Try other words.", "メッセージとツール呼び出しには見つかりません。別の言葉で検索してください。";
    nothing_yet: "Nothing so far; older messages have not been searched yet.", "まだ見つかっていません。さらに古いメッセージは検索していません。";
    you: "You", "あなた";
    in_other_version: "another version", "別のバージョン";
    show_more: "Show more", "もっと見る";
    signed_in_as: "Signed in as", "サインイン中:";
    sign_out: "Sign out", "サインアウト";
    today: "Today", "今日";
    yesterday: "Yesterday", "昨日";
    last_week: "Previous 7 days", "過去7日間";
    older: "Older", "それ以前";
    rename: "Rename", "名前を変更";
    rename_label: "New title", "新しいタイトル";
    delete: "Delete", "削除";
    undo: "Undo", "元に戻す";
    open_sidebar: "Show conversations", "会話の一覧を開く";
    close_sidebar: "Hide conversations", "会話の一覧を閉じる";
    running: "Answering now", "回答中";
    skip_sidebar: "Skip the list of conversations", "会話の一覧をとばす";
    pinned: "Pinned", "ピン留め";
    pin: "Pin", "ピン留めする";
    unpin: "Unpin", "ピン留めを外す";
    archive: "Archive", "アーカイブする";
    unarchive: "Take out of the archive", "アーカイブから戻す";
    archive_title: "Archive", "アーカイブ";
    leave_archive: "Back to the list", "一覧に戻る";
    nothing_archived: "Conversations that you archive are kept here.", "アーカイブした会話はここに表示されます。";
    archived_notice:
        "This conversation is in the archive. A message takes it out again.",
        "この会話はアーカイブにあります。メッセージを送ると一覧に戻ります。";
    select: "Select several…", "複数選択…";
    row_menu: "What to do with it", "操作";
    theme_label: "Theme", "テーマ";
    language_label: "Language", "言語";

    // The message field and the new chat.
    composer_label: "Message", "メッセージ";
    composer_placeholder: "Write a message…", "メッセージを入力…";
    composer_hint: "Enter sends · Shift+Enter breaks the line", "Enterで送信・Shift+Enterで改行";
    composer_hint_busy: "Enter sends when the answer ends · Shift+Enter breaks the line", "Enterで回答の終了後に送信・Shift+Enterで改行";
    send: "Send", "送信";
    send_nothing: "Write a message first", "先にメッセージを入力してください";
    send_later: "Send when the answer ends", "回答が終わったら送信";
    queue_label: "Messages that wait", "送信待ちのメッセージ";
    queue_goes_on: "Sent one after the other, each when the answer before it ends.", "回答が終わるたびに、順番に送信されます。";
    queue_waits: "The last answer did not end as it should, so these wait.", "直前の回答が正常に終わらなかったため、送信を保留しています。";
    queue_was_stopped: "The answer was stopped, so these wait until you send them.", "回答が停止されたため、送信を保留しています。「今すぐ送信」を押すと送信されます。";
    queue_is_held: "These wait until you send them.", "「今すぐ送信」を押すと送信されます。";
    queue_rests: "These were not sent yet.", "まだ送信されていません。";
    queue_sending: "Sending…", "送信しています…";
    queue_edit: "Change this message", "このメッセージを変更";
    queue_remove: "Take this message out", "このメッセージを取り消す";
    queue_field: "Message that waits", "送信待ちのメッセージ";
    send_now: "Send now", "今すぐ送信";
    save: "Save", "保存";
    stop: "Stop", "停止";
    stopping: "Stopping…", "停止しています…";
    stop_failed:
        "The stop request got no answer, so the answer may still be running. Press Stop again.",
        "停止の要求に応答がありませんでした。回答の生成が続いている可能性があります。もう一度「停止」を押してください。";
    send_while_leaving:
        "This conversation is being deleted. To write in it, undo that.",
        "この会話はまもなく削除されます。メッセージを送るには、削除を元に戻してください。";
    send_after_deletion:
        "This conversation was deleted. Send this in a new chat.",
        "この会話は削除されました。新しいチャットで送信してください。";
    deleted_elsewhere:
        "This conversation was deleted elsewhere. What you were writing goes on in a new chat.",
        "この会話はほかの場所で削除されました。書きかけの文章は新しいチャットに引き継がれます。";
    edit_moved:
        "The message you were editing is no longer shown. Your text is in the message field.",
        "編集中のメッセージは表示されなくなりました。入力した文章はメッセージ欄に移しました。";
    signed_out:
        "You are signed out. What you wrote is kept in this browser.",
        "サインアウトされました。入力した文章はこのブラウザーに残っています。";
    sign_in_again: "Sign in", "サインイン";
    retry_now: "Retry now", "今すぐ再試行";
    needs_javascript:
        "You can read this conversation as it is. To write, switch on JavaScript for this page.",
        "このまま会話を読むことができます。メッセージを送るには、このページのJavaScriptを有効にしてください。";
    tools_at_hand: "Tools at hand:", "使えるツール:";
    /// Before the settings in the notice that the demo model answers.
    demo_notice_start:
        "This is the built-in demo model: it knows arithmetic only. Set ",
        "これは内蔵のデモモデルで、できるのは計算だけです。本物のモデルにつなぐには、";
    demo_notice_or: " or ", " または ";
    demo_notice_end: " and start again to connect a real one.", " を設定して再起動してください。";

    // The conversation.
    messages_label: "Messages", "メッセージの一覧";
    you_said: "You said", "あなた";
    answer: "Answer", "回答";
    answered: "The answer is complete.", "回答が終わりました。";
    answer_was_stopped: "The answer was stopped.", "回答は停止されました。";
    answer_failed: "The answer failed.", "回答に失敗しました。";
    answer_broke_off: "The answer ended before it was complete.", "回答は途中で終わりました。";
    connection_is_lost: "The connection is lost. Tallybook keeps trying to restore it.", "接続が切れました。再接続を試しています。";
    wrap: "Wrap", "折り返す";
    download: "Download", "ダウンロード";
    copy_csv: "Copy as CSV", "CSVでコピー";
    footnote: "Footnote", "脚注";
    footnote_back: "Back to", "本文へ戻る:";
    show_whole: "Show all", "すべて表示";
    show_less: "Show less", "折りたたむ";
    thinking: "Thinking…", "考えています…";
    provider_busy: "The provider is busy.", "モデルの提供元が混み合っています。";
    provider_unreachable: "The provider cannot be reached.", "モデルの提供元に接続できません。";
    provider_failing: "The provider reports a fault of its own.", "モデルの提供元で障害が起きています。";
    provider_broke_off: "The model's answer broke off.", "モデルの応答が途切れました。";
    still_waiting: "Still waiting…", "まだ待っています…";
    sending: "Sending…", "送信しています…";
    model_refused:
        "The model declined to go on. Put the question differently, or ask another model.",
        "モデルが回答を断りました。質問の仕方を変えるか、別のモデルをお試しください。";
    cut_off:
        "The answer reached the longest length it may have.",
        "回答が長さの上限に達しました。";
    step_limit:
        "The answer used up the steps that one turn may have.",
        "1回の回答で使えるステップ数の上限に達しました。";
    handed_over:
        "The program that asked was given calls to run with its own tools. What it made of them is in its next answer.",
        "質問したプログラムに、そのプログラム自身のツールの呼び出しを渡しました。結果は次の回答にあります。";
    ask_for_rest: "Ask for the rest", "続きを依頼";
    /// What the button above sends.
    rest_please: "Please go on.", "続けてください。";
    interrupted:
        "The server went away during this answer. What was written so far is kept.",
        "回答の途中でサーバーが停止しました。ここまでの内容は保存されています。";
    go_on: "Continue", "続ける";
    failed:
        "This answer failed.",
        "回答に失敗しました。";
    no_output: "Finished with no output.", "出力なしで終了しました。";
    loading_conversation: "Loading this conversation…", "会話を読み込んでいます…";
    jump_to_newest: "Jump to newest", "最新へ移動";
    show_earlier: "Show earlier messages", "以前のメッセージを表示";
    loading_earlier: "Loading earlier messages…", "以前のメッセージを読み込んでいます…";
    summed_up: "Earlier messages were summed up", "以前のメッセージは要約されました";
    summed_up_hint:
        "In place of the messages above, the model of the newest answer was told this:",
        "最新の回答では、これより前のメッセージの代わりに、次の要約がモデルに伝えられました。";
    left_out:
        "The model of the newest answer was not told the messages above.",
        "最新の回答では、これより前のメッセージはモデルに伝えられていません。";
    earlier_need_javascript:
        "Earlier messages are shown with JavaScript. Without it, export this conversation to read all of it.",
        "以前のメッセージの表示にはJavaScriptが必要です。使わずにすべてを読むには、この会話を書き出してください。";
    find_here: "Find in this conversation", "この会話の中を検索";
    find_next: "Next place", "次の箇所";
    find_previous: "Previous place", "前の箇所";
    find_close: "Close", "閉じる";
    found_nowhere: "Not found", "見つかりません";
    going_there: "Going to the message…", "メッセージへ移動しています…";
    message_gone:
        "This message is not there any more. It may have been deleted.",
        "このメッセージは見つかりません。削除された可能性があります。";
    message_elsewhere:
        "This message is not in the version that is shown. Wait until the answer is complete, then go there again.",
        "このメッセージは、表示中のバージョンにありません。回答が終わってから、もう一度移動してください。";
    copy_link: "Copy a link to this message", "このメッセージへのリンクをコピー";
    copy: "Copy", "コピー";
    copy_answer: "Copy this answer", "回答をコピー";
    explain: "What was done and why", "作業の内容と理由";
    explaining: "Summing up what was done…", "作業を要約しています…";
    nothing_done: "No tool was called for this answer.", "この回答ではツールは呼び出されていません。";
    regenerate: "Regenerate", "回答を作り直す";
    edit: "Edit", "編集";
    edit_label: "Change your message", "メッセージを編集";
    edit_hint: "Enter sends · Esc cancels", "Enterで送信・Escでキャンセル";
    cancel: "Cancel", "キャンセル";
    versions: "Versions", "バージョン";
    older_version: "Previous version", "前のバージョン";
    newer_version: "Next version", "次のバージョン";
    wait_for_answer: "Wait until the answer is complete, or stop it.", "回答が終わるのを待つか、停止してください。";
    conversation_menu: "Rename, pin, archive, export, delete", "名前の変更・ピン留め・アーカイブ・書き出し・削除";
    export_markdown: "Export as Markdown", "Markdownで書き出す";
    export_json: "Export as JSON", "JSONで書き出す";
    model_label: "Model:", "モデル:";
    choose_model: "Model of this conversation", "この会話のモデル";
    next_message_only: "Only for the next message", "次のメッセージのみ";
    tools_native: "tools", "ツール対応";
    tools_in_prompt: "tools by prompt", "ツール対応（プロンプト経由）";
    regenerate_by: "Regenerate with another model", "別のモデルで作り直す";
    copied: "Copied", "コピーしました";
    copy_again: "Press again to copy", "もう一度押してコピー";
    table: "Table", "表";
    task_done: "Done", "完了";
    task_open: "Not done", "未完了";
    text_left_out:
        "The rest of this text is too large to be shown. Export the conversation, or open it as plain text, to read all of it.",
        "これ以降は大きすぎるため表示していません。会話をエクスポートするか、テキスト形式で開くと全文を読めます。";

    // Tool calls.
    input: "Input", "入力";
    output: "Output", "出力";
    error: "Error", "エラー";
    loading_rest: "Loading the rest…", "続きを読み込んでいます…";
    no_arguments: "No arguments.", "引数はありません。";
    still_running: "Running…", "実行しています…";
    takes_long: "This is taking a while.", "時間がかかっています。";
    takes_very_long: "This is taking very long.", "かなり時間がかかっています。";
    waits_for_decision: "Waits for a decision before it runs.", "実行の前に承認を待っています。";
    was_denied: "This call was refused, so it did not run.", "この呼び出しは拒否されたため、実行されていません。";
    was_cancelled: "The answer was stopped during this call.", "この呼び出しの途中で回答が停止されました。";
    was_interrupted:
        "The server restarted during this call. It may have run.",
        "この呼び出しの途中でサーバーが再起動しました。実行された可能性があります。";
    call_running: "running", "実行中";
    call_awaiting_approval: "awaiting approval", "承認待ち";
    call_done: "done", "完了";
    call_failed: "failed", "失敗";
    call_denied: "denied", "拒否";
    call_cancelled: "cancelled", "中止";
    call_interrupted: "interrupted", "中断";
    call_unknown: "in an unknown state", "状態不明";

    // The command palette.
    palette_title: "Commands and conversations", "コマンドと会話";
    palette_placeholder: "Type a command or the name of a conversation…", "コマンドか会話の名前を入力…";
    palette_nothing: "Nothing matches. Try other words.", "一致するものがありません。別の言葉で試してください。";
    copy_last_answer: "Copy the last answer", "最後の回答をコピー";
    rename_this: "Rename this conversation", "この会話の名前を変更";
    pin_this: "Pin this conversation", "この会話をピン留めする";
    unpin_this: "Unpin this conversation", "この会話のピン留めを外す";
    archive_this: "Archive this conversation", "この会話をアーカイブする";
    unarchive_this: "Take this conversation out of the archive", "この会話をアーカイブから戻す";
    delete_this: "Delete this conversation", "この会話を削除";
    open_archive: "Show the archive", "アーカイブを開く";
    toggle_sidebar: "Show or hide the list of conversations", "会話の一覧を開く・閉じる";

    // What goes wrong.
    not_found_title: "Nothing here", "見つかりません";
    not_found_page: "There is no page at this address.", "このアドレスにページはありません。";
    not_found_conversation:
        "There is no conversation at this address. It may have been deleted.",
        "このアドレスに会話はありません。削除された可能性があります。";
    not_found_call:
        "The rest of this tool call is gone. Its conversation may have been deleted.",
        "このツール呼び出しの続きは見つかりません。会話が削除された可能性があります。";
    start_new: "Start a new chat", "新しいチャットを始める";
    failed_title: "This page could not be loaded", "ページを読み込めませんでした";
    reload: "Try again", "もう一度試す";
    outdated: "Tallybook was updated. This page is still the old one.", "Tallybookが更新されました。このページは古いままです。";
    page_not_loaded:
        "A part of this page could not be loaded, so it does not work yet. Check your connection, then reload.",
        "ページの一部を読み込めなかったため、まだ使えません。接続を確認してから再読み込みしてください。";
    page_stopped:
        "Something in this page broke. What you sent is kept on the server; reload to go on.",
        "ページで問題が起きました。送信した内容はサーバーに保存されています。再読み込みすると続けられます。";
    reload_page: "Reload the page", "ページを再読み込み";
    unreachable:
        "The server cannot be reached. Check the connection, then try again.",
        "サーバーに接続できません。接続を確認して、もう一度お試しください。";
    unreadable:
        "The server's answer could not be read. Reload the page, then try again.",
        "サーバーの応答を読み取れませんでした。ページを再読み込みして、もう一度お試しください。";
    turn_running:
        "This conversation is already being answered, perhaps in another tab. Wait for the end or stop it, then send again.",
        "この会話では、別のタブなどですでに回答を生成しています。終わるのを待つか停止してから、もう一度送信してください。";
    connection_lost:
        "The connection could not be restored. Reload the page to see how the answer went on.",
        "接続を回復できませんでした。ページを再読み込みすると、回答の続きを確認できます。";

    // The keys.
    help_title: "Shortcuts and settings", "ショートカットと設定";
    help_close: "Close", "閉じる";
    help_open: "Shortcuts and settings (Ctrl+/)", "ショートカットと設定（Ctrl+/）";
    settings: "Settings", "設定";
    single_keys: "Shortcuts of one character: [ ] E 1 2 3", "1文字のショートカット（[ ] E 1 2 3）を使う";
    notifications: "Notify me when an answer ends in a hidden tab", "タブが表示されていないときに回答が終わったら通知する";
    notifications_refused:
        "Your browser refuses. Allow notifications for this page in the browser's settings, then try again.",
        "ブラウザーで通知が許可されていません。ブラウザーの設定でこのページの通知を許可してから、もう一度お試しください。";
    notifications_missing:
        "This browser shows no notifications here. They need https, or this machine's own address.",
        "ここではブラウザーの通知を使えません。httpsまたはlocalhostのアドレスで開いてください。";
    answer_ended: "The answer has ended", "回答が終わりました";
    no_files: "Files and pictures cannot be attached.", "ファイルや画像は添付できません。";
    help_everywhere: "Everywhere", "いつでも";
    help_reading: "While you are not writing", "入力していないとき";
    help_writing: "In the message field", "メッセージ欄で";
    help_command_key: "On a Mac, press ⌘ for Ctrl.", "MacではCtrlの代わりに⌘を押します。";
    key_palette: "Commands and conversations", "コマンドと会話";
    key_search_messages: "Search titles, messages and tool calls", "タイトル・メッセージ・ツール呼び出しを検索";
    key_find: "Find in this conversation", "この会話の中を検索";
    key_new_chat: "New chat", "新しいチャット";
    key_help: "This list", "この一覧";
    key_stop: "Stop the answer", "回答を停止";
    key_previous_call: "Previous tool call", "前のツール呼び出し";
    key_next_call: "Next tool call", "次のツール呼び出し";
    key_expand: "Open or close all tool calls", "すべてのツール呼び出しを開く・閉じる";
    key_send: "Send", "送信";
    key_break_line: "Break the line", "改行";
}

/// The words in the browser's tab.
pub(crate) fn page_title(conversation: Option<&str>) -> String {
    conversation.map_or_else(|| PRODUCT.to_owned(), |title| format!("{title} · {PRODUCT}"))
}

impl Language {
    /// What the elements around Markdown say.
    pub(crate) fn markdown_labels(self) -> Labels {
        Labels {
            copy: self.copy().to_owned(),
            copied: self.copied().to_owned(),
            wrap: self.wrap().to_owned(),
            download: self.download().to_owned(),
            copy_csv: self.copy_csv().to_owned(),
            footnote: self.footnote().to_owned(),
            footnote_back: self.footnote_back().to_owned(),
            table: self.table().to_owned(),
            task_done: self.task_done().to_owned(),
            task_open: self.task_open().to_owned(),
            left_out: self.text_left_out().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{language::Language, transcript::Tally, waiting::Waiting};

    #[test]
    fn who_waits_is_told_for_what() {
        let said = |waiting: &Waiting, long| Language::ALL.map(|language| language.waiting(waiting, long));
        assert_eq!(said(&Waiting::Model, false), ["Thinking…", "考えています…"]);
        assert_eq!(said(&Waiting::Model, true)[0], "Still waiting…");
        let call = Waiting::Call { name: "write_file".to_owned(), bytes: 48_000 };
        assert_eq!(said(&call, true)[0], "Writing a call of write_file…");
        let provider = |code: &str| Waiting::Provider { code: code.to_owned(), seconds: 14, attempt: 2, attempts: 3 };
        let causes = ["model_busy", "model_unreachable", "model_failing", "model_bad_stream"];
        for language in Language::ALL {
            let mut words = causes.map(|code| language.waiting(&provider(code), false)).to_vec();
            words.dedup();
            assert_eq!(words.len(), causes.len(), "each cause has its words: {words:?}");
        }
        assert_eq!(said(&provider("model_busy"), false)[0], "The provider is busy.");
        assert_eq!(said(&provider("model_unreachable"), false)[0], "The provider cannot be reached.");
        assert_eq!(said(&provider("model_failing"), false)[0], "The provider reports a fault of its own.");
        assert_eq!(Language::English.trying_again(14, 2, 3), "Trying again in 14 s (2 of 3)");
    }

    #[test]
    fn a_stopped_answer_says_what_became_of_its_calls() {
        let said = |finished, cancelled, unclear| Language::English.stopped(Tally { finished, cancelled, unclear });
        assert_eq!(said(0, 0, 0), "Stopped. What was written so far is kept.");
        assert_eq!(said(1, 0, 0), "Stopped. 1 tool call had finished. What was written so far is kept.");
        let all = "Stopped. 2 tool calls had finished, 1 was cancelled, 3 may still be running. What was written so far is kept.";
        assert_eq!(said(2, 1, 3), all);
        assert_eq!(said(0, 2, 0), "Stopped. 2 tool calls were cancelled. What was written so far is kept.");
        let said = Language::Japanese.stopped(Tally { finished: 2, cancelled: 1, unclear: 0 });
        assert_eq!(said, "停止しました（ツール呼び出し: 2件完了、1件中止）。ここまでの内容は保存されています。");
    }

    #[test]
    fn every_text_is_there_in_both_languages() {
        let is_japanese =
            |text: &str| text.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'));
        let all = |language: Language| {
            let texts = [
                language.all_texts(),
                language.playback_texts(),
                language.setting_texts(),
                #[cfg(feature = "ssr")]
                language.shared_texts(),
                language.look_texts(),
                language.plan_texts(),
                language.sharing_texts(),
                language.tool_texts(),
            ];
            texts.concat()
        };
        for (name, text) in all(Language::English) {
            assert!(!text.is_empty() && !is_japanese(text), "{name}: {text}");
        }
        for (name, text) in all(Language::Japanese) {
            assert!(is_japanese(text), "{name}: {text}");
        }
    }
}
