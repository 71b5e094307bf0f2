//! Texts that models and tool servers in the settings share: the dialog that adds or edits one, and the lists of both.

use tallybook_protocol::SettingsOrigin;

use crate::{
    api::ApiError,
    language::Language,
    setup::{EntryKind, Fault, Field, Reason, Work},
};

texts! {
    setup_texts;

    // The fields.
    setup_close: "Close", "閉じる";
    setup_connection: "Connection", "接続";
    setup_address: "Address", "アドレス";
    setup_name: "Name shown to users", "表示名";
    setup_name_fixed: "The name cannot be changed.", "名前は変更できません。";
    setup_further: "More settings", "詳細設定";
    setup_default_hint: "Empty fields use the default.", "空欄の項目には既定値が使われます。";
    secret_show: "Show", "表示";
    secret_hide: "Hide", "隠す";
    yes: "Yes", "はい";
    no: "No", "いいえ";

    // The test, and storage.
    setup_test: "Test", "テスト";
    setup_testing: "Testing…", "テストしています…";
    model_connect: "Connect", "接続";
    model_connecting: "Connecting…", "接続しています…";
    server_add: "Add", "追加";
    server_adding: "Adding…", "追加しています…";
    setup_saving: "Saving…", "保存しています…";
    setup_loading: "Loading the current settings…", "現在の設定を読み込んでいます…";
    setup_changed:
        "Another admin changed these settings. Your changes are kept, and the other fields show the new settings. Check them, then save again.",
        "この設定は別の管理者によって変更されました。あなたの変更は残っています。ほかの項目には新しい設定が表示されています。確認して、もう一度保存してください。";

    // The lists.
    connected_models: "Models", "モデル";
    connected_models_about: "Models that users of this server can choose. Only admins see this list.", "このサーバーのユーザーが選べるモデルです。管理者だけに表示されます。";
    connected_models_none: "No models.", "モデルはありません。";
    models_in_file:
        "To change a model of the settings file, edit the file or the environment variables, and restart Tallybook.",
        "設定ファイルのモデルを変更するには、ファイルまたは環境変数を編集して、Tallybookを再起動してください。";
    tool_servers: "Tool servers", "ツールサーバー";
    tool_servers_about:
        "Servers whose tools models can use, in conversations of all users. Only admins see this list.",
        "モデルがツールを使えるサーバーです。すべてのユーザーの会話で使われます。この一覧は管理者だけに表示されます。";
    tool_servers_none: "No tool servers.", "ツールサーバーはありません。";
    tool_servers_in_file:
        "To change a tool server of a settings file, edit the file, and restart Tallybook.",
        "設定ファイルのツールサーバーを変更するには、ファイルを編集して、Tallybookを再起動してください。";
    origin_file: "in the settings file", "設定ファイルで設定";
    origin_page: "added here", "この画面で追加";
    entry_remove: "Remove", "削除";
    entry_set_in_file: "Not used: the settings file or the environment has one of the same name.",
        "使われていません。設定ファイルまたは環境変数に同じ名前のものがあります。";
    entry_other_key: "Not used: the server cannot decrypt its key, because the secret key (SECRET_KEY, or the key file beside the database) has changed or is missing. Restore it, or enter the API key or the headers again.",
        "使われていません。サーバーの秘密鍵（SECRET_KEY、またはデータベースの隣の鍵ファイル）が変わったか失われたため、保存されたキーを復号できません。秘密鍵を元に戻すか、APIキーまたはヘッダーを入力し直してください。";
}

impl Language {
    /// Returns the title of the dialog for a new entry, which is also the label of the button that opens it.
    pub(crate) const fn add_entry(self, kind: EntryKind) -> &'static str {
        match kind {
            EntryKind::Model => self.connect_model(),
            EntryKind::ToolServer => self.add_tool_server(),
        }
    }

    /// Returns the label of the button that stores a new entry.
    pub(crate) const fn add_short(self, kind: EntryKind) -> &'static str {
        match kind {
            EntryKind::Model => self.model_connect(),
            EntryKind::ToolServer => self.server_add(),
        }
    }

    /// Returns the title of a list in the settings, and a sentence about it.
    pub(crate) const fn entries(self, kind: EntryKind) -> (&'static str, &'static str) {
        match kind {
            EntryKind::Model => (self.connected_models(), self.connected_models_about()),
            EntryKind::ToolServer => (self.tool_servers(), self.tool_servers_about()),
        }
    }

    /// Says that a list is empty.
    pub(crate) const fn entries_none(self, kind: EntryKind) -> &'static str {
        match kind {
            EntryKind::Model => self.connected_models_none(),
            EntryKind::ToolServer => self.tool_servers_none(),
        }
    }

    /// Says how entries of the settings file are changed.
    pub(crate) const fn entries_in_file(self, kind: EntryKind) -> &'static str {
        match kind {
            EntryKind::Model => self.models_in_file(),
            EntryKind::ToolServer => self.tool_servers_in_file(),
        }
    }

    /// Returns the place in which an entry is configured.
    pub(crate) const fn entry_origin(self, origin: SettingsOrigin) -> &'static str {
        match origin {
            SettingsOrigin::File | SettingsOrigin::Unknown => self.origin_file(),
            SettingsOrigin::Page => self.origin_page(),
        }
    }

    /// Returns the reason why an action failed: a sentence, and details that the server sent in English.
    pub(crate) fn setup_problem(
        self,
        kind: EntryKind,
        field: Option<Field>,
        reason: &Reason,
    ) -> (String, Option<String>) {
        let error = match reason {
            Reason::Field(fault) => return (self.field_fault(kind, field, *fault).to_owned(), None),
            Reason::Changed => return (self.setup_changed().to_owned(), None),
            Reason::Request(error) => error,
        };
        let ApiError::Refused { code, detail, .. } = error else { return (error.message(self), None) };
        if self == Self::English || detail.is_empty() {
            return (error.message(self), None);
        }
        // The details stay only where they say more than the sentence.
        let (words, has_details) = match code.as_str() {
            "model-unreachable" => ("提供元からモデルの一覧を取得できませんでした。", true),
            "invalid-model" | "invalid-tool-server" => ("この設定は使えません。", true),
            "name-taken" => ("この名前はすでに使われています。別の名前にしてください。", false),
            "no-such-model" => ("このモデルは見つかりません。すでに削除された可能性があります。", false),
            "no-such-tool-server" => ("このツールサーバーは見つかりません。すでに削除された可能性があります。", false),
            "set-in-file" if field.is_some() => {
                ("この名前は設定ファイルですでに使われています。別の名前にしてください。", false)
            }
            "set-in-file" => (self.entries_in_file(kind), false),
            "no-secret-key" => {
                ("キーやトークンを保存できません。サーバーの設定SECRET_KEYを指定して、再起動してください。", true)
            }
            _ => return (error.message(self), None),
        };
        (words.to_owned(), has_details.then(|| detail.clone()))
    }

    const fn field_fault(self, kind: EntryKind, field: Option<Field>, fault: Fault) -> &'static str {
        let (english, japanese) = match (fault, field, kind) {
            (Fault::Missing, Some(Field::Address), EntryKind::Model) => (
                "Enter the server's address, such as http://127.0.0.1:8000/v1.",
                "サーバーのアドレスを入力してください（例: http://127.0.0.1:8000/v1）。",
            ),
            (Fault::Missing, Some(Field::Address), EntryKind::ToolServer) => (
                "Enter the server's address, such as https://tools.example.com/mcp.",
                "サーバーのアドレスを入力してください（例: https://tools.example.com/mcp）。",
            ),
            (Fault::Missing, Some(Field::Secret), EntryKind::Model) => {
                ("Paste your API key.", "APIキーを入力してください。")
            }
            (Fault::Missing, Some(Field::Secret), EntryKind::ToolServer) => {
                ("Paste the token.", "トークンまたは値を入力してください。")
            }
            (Fault::Missing, Some(Field::Header), _) => {
                ("Enter the name of the header, such as X-Api-Key.", "ヘッダー名を入力してください（例: X-Api-Key）。")
            }
            (Fault::NotAHeader, _, _) => (
                "Write each header once and in a line of its own, such as X-Team: maps.",
                "ヘッダーは1行に1つずつ、重複しないように入力してください（例: X-Team: maps）。",
            ),
            (Fault::Missing, Some(Field::Model), _) => (
                "Choose a model, or enter the provider's name of the model.",
                "モデルを選ぶか、提供元でのモデル名を入力してください。",
            ),
            (Fault::Missing, _, EntryKind::Model) => {
                ("Enter a name for this model.", "このモデルの表示名を入力してください。")
            }
            (Fault::Missing, _, EntryKind::ToolServer) => {
                ("Enter a name for this tool server.", "このツールサーバーの名前を入力してください。")
            }
            (Fault::NotAnAddress, _, EntryKind::Model) => (
                "Enter a full address, such as http://127.0.0.1:8000/v1.",
                "http://またはhttps://で始まるアドレスを入力してください（例: http://127.0.0.1:8000/v1）。",
            ),
            (Fault::NotAnAddress, _, EntryKind::ToolServer) => (
                "Enter a full address, such as https://tools.example.com/mcp.",
                "http://またはhttps://で始まるアドレスを入力してください（例: https://tools.example.com/mcp）。",
            ),
            (Fault::PlainHttp, _, _) => (
                "Use an address that begins with https://, or choose “Yes” here.",
                "https://で始まるアドレスを使うか、ここで「はい」を選んでください。",
            ),
            (Fault::NotAWholeNumber, _, EntryKind::Model) => {
                ("Enter a whole number, such as 128000.", "整数を入力してください（例: 128000）。")
            }
            (Fault::NotAWholeNumber, _, EntryKind::ToolServer) => {
                ("Enter a whole number, such as 30.", "整数を入力してください（例: 30）。")
            }
            (Fault::NotANumber, _, _) => ("Enter a number, such as 0.5.", "数値を入力してください（例: 0.5）。"),
            (Fault::OnePrice, _, _) => {
                ("Enter both prices, or neither.", "価格は両方入力するか、両方空欄にしてください。")
            }
            (Fault::SecretAgain, _, EntryKind::Model) => (
                "Enter the key again. The stored key is sent only to the saved address.",
                "キーをもう一度入力してください。保存済みのキーは、保存済みのアドレスにだけ送信されます。",
            ),
            (Fault::SecretAgain, _, EntryKind::ToolServer) => (
                "Choose how to authenticate, and enter the token again. The stored one is sent only to the saved address.",
                "認証方法を選び、トークンをもう一度入力してください。保存済みのトークンは、保存済みのアドレスにだけ送信されます。",
            ),
        };
        match self {
            Self::English => english,
            Self::Japanese => japanese,
        }
    }

    /// Returns the words for a request that is under way.
    pub(crate) const fn setup_work(self, work: Work, kind: EntryKind, is_new: bool) -> &'static str {
        match (work, kind) {
            (Work::Finding | Work::Detecting, _) => self.model_finding(),
            (Work::Testing, _) => self.setup_testing(),
            (Work::Saving, EntryKind::Model) if is_new => self.model_connecting(),
            (Work::Saving, EntryKind::ToolServer) if is_new => self.server_adding(),
            (Work::Saving, _) => self.setup_saving(),
            (Work::Loading, _) => self.setup_loading(),
        }
    }

    /// Returns the title of the dialog that edits an entry.
    pub(crate) fn edit_entry(self, name: &str) -> String {
        match self {
            Self::English => format!("Edit {name}"),
            Self::Japanese => format!("{name}を編集"),
        }
    }

    /// Announces a new entry.
    pub(crate) fn entry_added(self, kind: EntryKind, name: &str) -> String {
        match (self, kind) {
            (Self::English, EntryKind::Model) => format!("{name} is connected. You can choose it now."),
            (Self::English, EntryKind::ToolServer) => {
                format!("{name} is added. You can use its tools as soon as it is connected.")
            }
            (Self::Japanese, EntryKind::Model) => format!("{name}を接続しました。すぐに選べます。"),
            (Self::Japanese, EntryKind::ToolServer) => {
                format!("{name}を追加しました。接続されると、ツールを使えます。")
            }
        }
    }

    /// Announces a changed entry.
    pub(crate) fn entry_saved(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} is saved."),
            Self::Japanese => format!("{name}を保存しました。"),
        }
    }

    /// Announces a removed entry.
    pub(crate) fn entry_removed(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} is removed."),
            Self::Japanese => format!("{name}を削除しました。"),
        }
    }

    /// Asks whether to remove an entry.
    pub(crate) fn confirm_removal(self, kind: EntryKind, name: &str) -> String {
        match (self, kind) {
            (Self::English, EntryKind::Model) => format!(
                "Remove {name}? Its key is deleted. Conversations with it remain, and need another model to continue."
            ),
            (Self::English, EntryKind::ToolServer) => format!(
                "Remove {name}? Its token is deleted, and models can no longer use its tools. Earlier calls remain in the conversations."
            ),
            (Self::Japanese, EntryKind::Model) => format!(
                "{name}を削除しますか？ キーも削除されます。このモデルとの会話は残りますが、続けるには別のモデルが必要です。"
            ),
            (Self::Japanese, EntryKind::ToolServer) => format!(
                "{name}を削除しますか？ トークンも削除され、モデルはこのサーバーのツールを使えなくなります。これまでの呼び出しは会話に残ります。"
            ),
        }
    }

    /// Returns the duration of a test.
    pub(crate) fn test_seconds(self, ms: u64) -> String {
        let tenths = ms.div_ceil(100);
        let seconds = format!("{}.{}", tenths / 10, tenths % 10);
        match self {
            Self::English => format!("after {seconds} s"),
            Self::Japanese => format!("{seconds}秒後"),
        }
    }
}
