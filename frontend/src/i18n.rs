//! All texts of the page, in English and Japanese.
//!
//! Errors of a request or a turn come from the server in English, with a stable code. `problem` and `turn_error` map
//! the codes to texts in the page's language.

mod answer;
mod conversations;
mod greeting;
mod problems;

use tallybook_markdown::Labels;

pub(crate) use greeting::Greeting;

use crate::language::Language;

/// The product's name.
pub(crate) const PRODUCT: &str = "Tallybook";

/// Implements a method of `Language` for each line: its name, the text in English, the text in Japanese. The first name
/// is the name of a method for tests that returns all these texts.
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

// These modules use the macro, so they come after it.
mod files;
mod header;
mod model_setup;
mod plan;
mod playback;
mod settings;
mod setup;
mod shared;
mod sharing;
mod tool_server_setup;
mod tools;

texts! {
    all_texts;

    // The sidebar.
    new_chat: "New chat", "新しいチャット";
    conversations: "Conversations", "会話";
    no_conversations: "Your conversations will appear here.", "会話を始めると、ここに表示されます。";
    search: "Search titles and messages", "タイトルとメッセージを検索";
    nothing_found: "No matching conversations.", "一致する会話はありません。";
    found_in_messages: "In messages", "メッセージ内";
    searching: "Searching…", "検索しています…";
    searching_older: "Searching older messages…", "さらに古いメッセージを検索しています…";
    search_older: "Search older messages", "さらに古いメッセージを検索";
    no_matches_in_messages:
        "No matches in messages or tool calls. Try different words.",
        "メッセージとツール呼び出しに一致するものはありません。別の言葉でお試しください。";
    no_matches_yet: "No matches so far. Older messages have not been searched yet.", "まだ見つかっていません。さらに古いメッセージは、まだ検索していません。";
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
    skip_to_content: "Skip to main content", "メインコンテンツへ移動";
    pinned: "Pinned", "ピン留め";
    pin: "Pin", "ピン留めする";
    unpin: "Unpin", "ピン留めを外す";
    archive: "Archive", "アーカイブする";
    unarchive: "Unarchive", "アーカイブから戻す";
    archive_title: "Archive", "アーカイブ";
    leave_archive: "Back to conversations", "会話の一覧に戻る";
    nothing_archived: "Conversations that you archive appear here.", "アーカイブした会話はここに表示されます。";
    archived_notice:
        "This conversation is archived. Sending a message restores it.",
        "この会話はアーカイブされています。メッセージを送信すると、一覧に戻ります。";
    select_multiple: "Select multiple…", "複数を選択…";
    select_all: "Select all", "すべて選択";
    select_none: "Select none", "すべて解除";
    more_actions: "More actions", "その他の操作";
    theme_label: "Theme", "テーマ";
    language_label: "Language", "言語";

    // The message field and the new chat.
    composer_label: "Message", "メッセージ";
    composer_placeholder: "Write a message…", "メッセージを入力…";
    composer_hint: "Enter to send · Shift+Enter for a new line", "Enterで送信・Shift+Enterで改行";
    composer_hint_busy: "Enter to send when the answer ends · Shift+Enter for a new line", "Enterで回答の終了後に送信・Shift+Enterで改行";
    send: "Send", "送信";
    send_nothing: "Write a message first", "先にメッセージを入力してください";
    send_later: "Send when the answer ends", "回答の終了後に送信";
    queue_label: "Queued messages", "送信待ちのメッセージ";
    queue_running: "Each message is sent when the previous answer ends.", "回答が終わるたびに、1件ずつ順番に送信されます。";
    queue_paused: "Paused: the last answer didn't finish.", "一時停止中: 直前の回答が完了しませんでした。";
    queue_paused_by_stop: "Paused: the last answer was stopped.", "一時停止中: 直前の回答が停止されました。";
    queue_held: "Paused until you send them.", "一時停止中: 「今すぐ送信」を押すと送信されます。";
    queue_not_sent: "Not sent yet.", "まだ送信されていません。";
    queue_sending: "Sending…", "送信しています…";
    queue_edit: "Edit this message", "このメッセージを編集";
    queue_remove: "Remove from queue", "送信待ちから削除";
    queue_field: "Queued message", "送信待ちのメッセージ";
    send_now: "Send now", "今すぐ送信";
    save: "Save", "保存";
    stop: "Stop", "停止";
    stopping: "Stopping…", "停止しています…";
    stop_failed:
        "The server did not confirm the stop, so the answer may still be running. Press Stop again.",
        "サーバーから停止の確認が返らなかったため、回答の生成が続いている可能性があります。もう一度「停止」を押してください。";
    send_while_deleting: "This conversation is being deleted. Undo to keep writing.", "この会話は削除されます。書き続けるには、削除を元に戻してください。";
    send_after_deletion:
        "This conversation was deleted. Send this in a new chat.",
        "この会話は削除されました。新しいチャットで送信してください。";
    deleted_elsewhere:
        "This conversation was deleted in another tab or on another device. Your draft moved to a new chat.",
        "この会話は、別のタブまたは端末で削除されました。下書きは新しいチャットに移動しました。";
    edit_moved:
        "The message you were editing is no longer shown. Your text is in the message field.",
        "編集していたメッセージは表示されなくなりました。入力した内容は、メッセージ欄に移動しました。";
    signed_out: "You are signed out. Your text is saved in this browser.", "サインアウトされました。入力した内容は、このブラウザーに保存されています。";
    sign_in_again: "Sign in", "サインイン";
    retry_now: "Retry now", "今すぐ再試行";
    needs_javascript:
        "You can read this conversation without JavaScript. To send messages, turn on JavaScript for this page.",
        "この会話は、JavaScriptがなくても読めます。メッセージを送信するには、このページのJavaScriptを有効にしてください。";
    available_tools: "Available tools:", "使えるツール:";
    no_model:
        "You may not use any model yet. Ask an admin to grant one to a group of yours.",
        "利用できるモデルがありません。管理者に相談してください。";
    demo_model: "You are using the demo model, which only does arithmetic.", "計算だけができるデモモデルを使用中です。";
    connect_model: "Connect a model", "モデルを接続する";
    add_tool_server: "Add a tool server", "ツールサーバーを追加する";
    ask_admin_for_model: "Ask an admin to connect another model.", "ほかのモデルを使うには、管理者に接続を依頼してください。";

    // The conversation.
    messages_label: "Messages", "メッセージの一覧";
    you_said: "You said", "あなたのメッセージ";
    answer: "Answer", "回答";
    answer_completed: "The answer is complete.", "回答が完了しました。";
    answer_was_stopped: "The answer was stopped.", "回答は停止されました。";
    answer_failed: "The answer failed.", "回答に失敗しました。";
    answer_incomplete: "The answer ended before it was complete.", "回答は途中で終わりました。";
    connection_interrupted: "Connection lost. Tallybook is trying to reconnect.", "接続が切れました。再接続を試しています。";
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
    provider_failing: "The provider is having problems.", "モデルの提供元で障害が発生しています。";
    provider_stream_broken: "The model's response was cut short.", "モデルの応答が途中で切れました。";
    still_waiting: "Still waiting…", "応答を待っています…";
    sending: "Sending…", "送信しています…";
    model_refused:
        "The model declined to answer. Rephrase your question, or choose another model.",
        "モデルが回答を控えました。質問を言い換えるか、別のモデルをお試しください。";
    length_limit: "This answer hit the length limit.", "回答が長さの上限に達しました。";
    step_limit: "This answer hit the step limit.", "回答がステップ数の上限に達しました。";
    client_tool_calls:
        "Tool calls were handed to the client. Results appear in the next answer.",
        "ツールの実行はクライアントに引き渡されました。結果は次の回答に表示されます。";
    ask_for_rest: "Continue", "続ける";
    /// Message that the button `ask_for_rest` sends.
    continue_message: "Continue.", "続けてください。";
    interrupted: "The server restarted while answering. Everything so far is saved.", "回答の途中でサーバーが再起動しました。ここまでの内容は保存されています。";
    continue_answer: "Continue", "続ける";
    failed:
        "This answer failed.",
        "回答に失敗しました。";
    no_output: "Finished with no output.", "出力なしで終了しました。";
    loading_conversation: "Loading this conversation…", "会話を読み込んでいます…";
    jump_to_newest: "Jump to newest", "最新へ移動";
    show_earlier: "Show earlier messages", "これより前のメッセージを表示";
    loading_earlier: "Loading earlier messages…", "これより前のメッセージを読み込んでいます…";
    earlier_summarized: "Earlier messages were summarized to fit the model's context", "以前のメッセージは、モデルのコンテキストに収まるように要約されました";
    earlier_summary_hint:
        "For the latest answer, the model received this summary instead of the messages above:",
        "最新の回答では、これより前のメッセージの代わりに、次の要約がモデルに送られました。";
    earlier_left_out: "Earlier messages were left out to fit the model's context", "以前のメッセージは、モデルのコンテキストに収まるように省略されました";
    earlier_not_printed:
        "Earlier messages are not printed, because they are not loaded. Scroll up to load them, or export the conversation.",
        "これより前のメッセージは読み込まれていないため、印刷されません。上にスクロールして読み込むか、会話を書き出してください。";
    earlier_need_javascript:
        "To show earlier messages, turn on JavaScript. To read all of it without JavaScript, export this conversation.",
        "以前のメッセージを表示するには、JavaScriptを有効にしてください。会話を書き出すと、JavaScriptなしですべて読めます。";
    find_here: "Find in this conversation", "この会話の中を検索";
    find_next: "Next match", "次の一致箇所";
    find_previous: "Previous match", "前の一致箇所";
    find_close: "Close", "閉じる";
    no_match: "No matches", "一致なし";
    opening_message: "Opening the message…", "メッセージを開いています…";
    message_not_found: "This message was not found. It may have been deleted.", "このメッセージは見つかりません。削除された可能性があります。";
    message_in_other_version:
        "This message is in another version. Wait until the answer is complete, then open the link again.",
        "このメッセージは別のバージョンにあります。回答が終わってから、もう一度リンクを開いてください。";
    copy_link: "Copy a link to this message", "このメッセージへのリンクをコピー";
    copy: "Copy", "コピー";
    copy_answer: "Copy this answer", "回答をコピー";
    copy_question: "Copy this message", "メッセージをコピー";
    fork: "Continue in a new chat", "ここから新しいチャットで続ける";
    explain: "Explain this answer", "回答の経緯を説明";
    explaining: "Writing the explanation…", "説明を作成しています…";
    nothing_to_explain: "No tools were used for this answer.", "この回答ではツールは使われていません。";
    good_answer: "Good answer", "良い回答";
    bad_answer: "Bad answer", "良くない回答";
    feedback_reason: "What was wrong? (optional)", "どこが良くなかったですか？（任意）";
    feedback_hint: "Admins can see your feedback.", "フィードバックは管理者も確認できます。";
    feedback_close: "Close", "閉じる";
    regenerate: "Regenerate", "回答を再生成";
    edit: "Edit", "編集";
    edit_label: "Edit your message", "メッセージを編集";
    edit_hint: "Enter to send · Esc to cancel", "Enterで送信・Escでキャンセル";
    cancel: "Cancel", "キャンセル";
    versions: "Versions", "バージョン";
    older_version: "Previous version", "前のバージョン";
    newer_version: "Next version", "次のバージョン";
    wait_for_answer: "Wait until the answer is complete, or stop it.", "回答が終わるのを待つか、停止してください。";
    conversation_menu: "Rename, pin, archive, export, delete", "名前の変更・ピン留め・アーカイブ・書き出し・削除";
    export_markdown: "Export as Markdown", "Markdownで書き出す";
    export_json: "Export as JSON", "JSONで書き出す";
    export_zip: "Export with files (ZIP)", "ファイルも含めて書き出す（ZIP）";
    model_label: "Model:", "モデル:";
    choose_model: "Model for this conversation", "この会話のモデル";
    next_message_only: "Next message only", "次のメッセージのみ";
    native_tools: "native tools", "ツールはネイティブ対応";
    prompted_tools: "prompted tools", "ツールはプロンプト経由";
    regenerate_with: "Regenerate with another model", "別のモデルで再生成";
    copied: "Copied", "コピーしました";
    copy_again: "Press again to copy", "もう一度押してコピー";
    table: "Table", "表";
    task_done: "Done", "完了";
    task_open: "Not done", "未完了";
    text_left_out:
        "The rest of this text is too long to show here. To read all of it, export the conversation or open it as plain text.",
        "これ以降は長すぎるため、ここには表示していません。全文を読むには、会話を書き出すか、テキスト形式で開いてください。";

    // Tool calls.
    input: "Input", "入力";
    output: "Output", "出力";
    error: "Error", "エラー";
    loading_rest: "Loading the rest…", "続きを読み込んでいます…";
    no_arguments: "No arguments.", "引数はありません。";
    still_running: "Running…", "実行しています…";
    takes_long: "This is taking a while.", "時間がかかっています。";
    takes_very_long: "This is taking a very long time.", "かなり時間がかかっています。";
    needs_approval_to_run: "Needs approval before it runs.", "実行の前に承認が必要です。";
    was_denied: "This call was denied, so it did not run.", "この呼び出しは拒否されたため、実行されていません。";
    was_cancelled: "The answer was stopped during this call.", "この呼び出しの途中で回答が停止されました。";
    was_interrupted:
        "The server restarted during this call. It may have run.",
        "この呼び出しの途中でサーバーが再起動しました。呼び出しは実行された可能性があります。";
    call_running: "running", "実行中";
    call_awaiting_approval: "awaiting approval", "承認待ち";
    call_done: "done", "完了";
    call_failed: "failed", "失敗";
    call_denied: "denied", "拒否";
    call_cancelled: "cancelled", "中止";
    call_interrupted: "interrupted", "中断";
    call_unknown: "unknown", "不明";

    // The command palette.
    palette_title: "Commands and conversations", "コマンドと会話";
    palette_placeholder: "Type a command or the name of a conversation…", "コマンドか会話の名前を入力…";
    palette_nothing: "No matches. Try different words.", "一致するものはありません。別の言葉でお試しください。";
    copy_last_answer: "Copy the last answer", "最後の回答をコピー";
    rename_this: "Rename this conversation", "この会話の名前を変更";
    pin_this: "Pin this conversation", "この会話をピン留めする";
    unpin_this: "Unpin this conversation", "この会話のピン留めを外す";
    archive_this: "Archive this conversation", "この会話をアーカイブする";
    unarchive_this: "Unarchive this conversation", "この会話をアーカイブから戻す";
    delete_this: "Delete this conversation", "この会話を削除";
    open_archive: "Show the archive", "アーカイブを表示";
    toggle_sidebar: "Show or hide conversations", "会話の一覧を開く・閉じる";

    // Errors.
    not_found_title: "Not found", "見つかりません";
    not_found_page:
        "This page does not exist. Check the address, or start a new chat.",
        "このアドレスにページはありません。アドレスを確認するか、新しいチャットを始めてください。";
    not_found_conversation: "This conversation was not found. It may have been deleted.", "この会話は見つかりません。削除された可能性があります。";
    not_found_call:
        "The rest of this tool call was not found. Its conversation may have been deleted.",
        "このツール呼び出しの続きは見つかりません。会話が削除された可能性があります。";
    rest_not_shared:
        "The share link had only the beginning of this text.",
        "共有リンクには、このテキストの先頭部分しか含まれていませんでした。";
    start_new: "Start a new chat", "新しいチャットを始める";
    failed_title: "This page could not be loaded", "ページを読み込めませんでした";
    try_again: "Try again", "もう一度試す";
    outdated: "Tallybook was updated. Reload to use the new version.", "新しいバージョンがあります。再読み込みしてください。";
    page_not_loaded:
        "Part of this page could not be loaded. Check your connection, then reload.",
        "ページの一部を読み込めませんでした。接続を確認してから、再読み込みしてください。";
    page_stopped:
        "Something went wrong. Sent messages are saved. Reload to continue.",
        "問題が発生しました。送信済みのメッセージは保存されています。続けるには、再読み込みしてください。";
    reload_page: "Reload the page", "ページを再読み込み";
    unreachable: "The server cannot be reached. Check your connection, then try again.", "サーバーに接続できません。接続を確認して、もう一度お試しください。";
    unreadable:
        "The server's response could not be read. Reload the page, then try again.",
        "サーバーの応答を読み取れませんでした。ページを再読み込みして、もう一度お試しください。";
    turn_running:
        "An answer is already running in this conversation, perhaps in another tab. Wait for it to end or stop it, then send again.",
        "この会話では、すでに回答を生成しています（別のタブなど）。終わるのを待つか停止してから、もう一度送信してください。";
    connection_lost:
        "The connection could not be restored. Reload the page to see the rest of the answer.",
        "接続を回復できませんでした。ページを再読み込みすると、回答の続きを確認できます。";

    // Shortcuts and the help dialog.
    help_title: "Shortcuts and settings", "ショートカットと設定";
    help_close: "Close", "閉じる";
    help_open: "Shortcuts and settings (Ctrl+/)", "ショートカットと設定（Ctrl+/）";
    settings: "Settings", "設定";
    single_keys: "Single-key shortcuts: [ ] E 1 2 3", "1キーのショートカット（[ ] E 1 2 3）を使う";
    notifications: "Notify me when an answer ends while this tab is hidden", "タブが表示されていないときに回答が終わったら通知する";
    notifications_blocked:
        "Notifications are blocked in your browser. Allow them for this page in the browser's settings, then try again.",
        "ブラウザーで通知がブロックされています。ブラウザーの設定でこのページの通知を許可してから、もう一度お試しください。";
    notifications_need_https:
        "Notifications need HTTPS or localhost. Open Tallybook with https:// to use them.",
        "通知を使うには、HTTPSまたはlocalhostが必要です。https://のアドレスで開いてください。";
    answer_ended: "The answer has ended", "回答が終わりました";
    help_everywhere: "Everywhere", "いつでも";
    help_reading: "While you are not typing", "入力していないとき";
    help_writing: "In the message field", "メッセージ欄で";
    help_command_key: "On a Mac, press ⌘ instead of Ctrl.", "MacではCtrlの代わりに⌘を押します。";
    key_palette: "Commands and conversations", "コマンドと会話";
    key_search_messages: "Search titles, messages and tool calls", "タイトル・メッセージ・ツール呼び出しを検索";
    key_find: "Find in this conversation", "この会話の中を検索";
    key_new_chat: "New chat", "新しいチャット";
    key_help: "This list", "この一覧";
    key_stop: "Stop the answer", "回答を停止";
    key_previous_call: "Previous tool call", "前のツール呼び出し";
    key_next_call: "Next tool call", "次のツール呼び出し";
    key_expand: "Expand or collapse all tool calls", "すべてのツール呼び出しを開く・閉じる";
    key_send: "Send", "送信";
    key_new_line: "New line", "改行";
    key_edit_last: "Edit your last message, if the field is empty", "直前の自分のメッセージを編集（入力欄が空のとき）";
}

/// Returns the title of the browser tab.
pub(crate) fn page_title(conversation: Option<&str>) -> String {
    conversation.map_or_else(|| PRODUCT.to_owned(), |title| format!("{title} · {PRODUCT}"))
}

impl Language {
    /// Returns the labels of the controls in Markdown.
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
    fn waiting_texts_name_the_cause() {
        let said = |waiting: &Waiting, long| Language::ALL.map(|language| language.waiting(waiting, long));
        assert_eq!(said(&Waiting::Model, false), ["Thinking…", "考えています…"]);
        assert_eq!(said(&Waiting::Model, true)[0], "Still waiting…");
        let call = Waiting::Call { name: "write_file".to_owned(), bytes: 48_000 };
        assert_eq!(said(&call, true)[0], "Preparing a call to write_file…");
        let provider = |code: &str| Waiting::Provider { code: code.to_owned(), seconds: 14, attempt: 2, attempts: 3 };
        let causes = ["model_busy", "model_unreachable", "model_failing", "model_bad_stream"];
        for language in Language::ALL {
            let mut words = causes.map(|code| language.waiting(&provider(code), false)).to_vec();
            words.dedup();
            assert_eq!(words.len(), causes.len(), "each cause has its words: {words:?}");
        }
        assert_eq!(said(&provider("model_busy"), false)[0], "The provider is busy.");
        assert_eq!(said(&provider("model_unreachable"), false)[0], "The provider cannot be reached.");
        assert_eq!(said(&provider("model_failing"), false)[0], "The provider is having problems.");
        assert_eq!(Language::English.retrying(14, 2, 3), "Retrying in 14 s (2 of 3)");
    }

    #[test]
    fn a_stopped_answer_lists_the_outcomes_of_its_calls() {
        let said = |finished, cancelled, unclear| {
            Language::English.stopped(Tally { finished, cancelled, unclear, ..Tally::default() })
        };
        assert_eq!(said(0, 0, 0), "Stopped. Everything so far is saved.");
        assert_eq!(said(1, 0, 0), "Stopped. 1 tool call had finished. Everything so far is saved.");
        let all =
            "Stopped. 2 tool calls had finished, 1 was cancelled, 3 may still be running. Everything so far is saved.";
        assert_eq!(said(2, 1, 3), all);
        assert_eq!(said(0, 2, 0), "Stopped. 2 tool calls were cancelled. Everything so far is saved.");
        let calls = Tally { finished: 2, denied: 1, cancelled: 1, unclear: 0 };
        let said = "Stopped. 2 tool calls had finished, 1 was denied, 1 was cancelled. Everything so far is saved.";
        assert_eq!(Language::English.stopped(calls), said);
        let said = "停止しました（ツール呼び出し: 2件完了、1件拒否、1件中止）。ここまでの内容は保存されています。";
        assert_eq!(Language::Japanese.stopped(calls), said);
    }

    #[test]
    fn every_text_exists_in_both_languages() {
        let is_japanese =
            |text: &str| text.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}'));
        let all = |language: Language| {
            let texts = [
                language.all_texts(),
                language.playback_texts(),
                language.setting_texts(),
                language.setup_texts(),
                language.tool_server_setup_texts(),
                #[cfg(feature = "ssr")]
                language.shared_texts(),
                language.header_texts(),
                language.model_setup_texts(),
                language.plan_texts(),
                language.sharing_texts(),
                language.file_texts(),
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
