//! Texts about connecting and editing models.

use tallybook_protocol::{SettingsOrigin, ToolOffer};

use crate::{
    api::ApiError,
    format,
    language::Language,
    model_setup::{Fault, Field, Provider, Reason, Work},
};

texts! {
    model_setup_texts;

    // The provider.
    model_provider: "Provider", "提供元";
    model_close: "Close", "閉じる";
    provider_compatible: "OpenAI-compatible server", "OpenAI互換サーバー";
    about_anthropic: "Claude models", "Claudeのモデル";
    about_openai: "GPT models", "GPTのモデル";
    about_openrouter: "Many providers, one key", "1つのキーで多くのモデル";
    about_gemini: "Gemini models", "Geminiのモデル";
    about_ollama: "Models on your own machine", "自分のマシンで動くモデル";
    about_compatible: "vLLM, LM Studio, llama.cpp, …", "vLLM、LM Studio、llama.cppなど";

    // The connection.
    model_connection: "Connection", "接続";
    model_address: "Address", "アドレス";
    model_address_hint:
        "The server's API address, as Tallybook's server reaches it. It usually ends in /v1.",
        "TallybookのサーバーからアクセスできるAPIのアドレスです。通常は/v1で終わります。";
    model_key: "API key", "APIキー";
    model_key_optional: "API key (if the server needs one)", "APIキー（必要な場合）";
    model_key_hint: "The key is stored encrypted, and is never shown again.", "キーは暗号化して保存され、再び表示されることはありません。";
    model_key_kept: "Leave this empty to keep the current key.", "空欄のままにすると、現在のキーを使い続けます。";
    model_key_get: "Get a key", "キーを取得";
    model_key_show: "Show", "表示";
    model_key_hide: "Hide", "隠す";
    model_key_show_label: "Show the key", "キーを表示";
    model_find: "Find models", "モデルを探す";
    model_finding: "Finding models…", "モデルを探しています…";

    // The model.
    model_section: "Model", "モデル";
    model_id: "The provider's name of the model", "提供元でのモデル名";
    model_id_hint:
        "Press “Find models” to choose from a list, or enter the name.",
        "「モデルを探す」を押して一覧から選ぶか、名前を入力してください。";
    model_id_hint_found: "Type to search, or enter another name.", "入力して絞り込めます。一覧にない名前も入力できます。";
    models_none_found:
        "The server lists no models. Enter the name of the model.",
        "サーバーにモデルの一覧がありません。モデル名を入力してください。";
    model_list: "The provider's models", "提供元のモデル";
    model_name: "Name shown to users", "表示名";
    model_name_fixed: "The name cannot be changed.", "表示名は変更できません。";

    // Further settings.
    model_further: "More settings", "詳細設定";
    model_context: "Context size, in tokens", "コンテキストの大きさ（トークン）";
    model_max_tokens: "Longest answer, in tokens", "回答の最大の長さ（トークン）";
    model_tool_mode: "Tools", "ツール";
    tools_auto: "Automatic", "自動";
    tools_native: "Native", "ネイティブ";
    tools_in_prompt: "In the prompt", "プロンプト経由";
    model_vision: "Reads images", "画像の読み取り";
    vision_auto: "Automatic", "自動";
    yes: "Yes", "はい";
    no: "No", "いいえ";
    model_input_price: "Price of input, per million tokens", "入力の価格（100万トークンあたり）";
    model_output_price: "Price of output, per million tokens", "出力の価格（100万トークンあたり）";
    model_temperature: "Temperature, from 0 to 2", "温度（0〜2）";
    model_default_hint: "Empty fields use the default.", "空欄の項目には既定値が使われます。";

    // The test, and storage.
    model_test: "Test", "テスト";
    model_testing: "Testing…", "テストしています…";
    model_test_passed: "The model answered", "モデルが応答しました";
    model_test_failed: "The model did not answer", "モデルが応答しませんでした";
    model_connect: "Connect", "接続";
    model_connecting: "Connecting…", "接続しています…";
    model_saving: "Saving…", "保存しています…";
    model_loading: "Loading the current settings…", "現在の設定を読み込んでいます…";
    model_changed:
        "Another admin changed this model. Your changes are kept, and the other fields show the new settings. Check them, then save again.",
        "このモデルは別の管理者によって変更されました。あなたの変更は残っています。ほかの項目には新しい設定が表示されています。確認して、もう一度保存してください。";

    // The section of the settings.
    connected_models: "Models", "モデル";
    connected_models_about: "Models that users of this server can choose. Only admins see this list.", "このサーバーのユーザーが選べるモデルです。管理者だけに表示されます。";
    connected_models_none: "No models.", "モデルはありません。";
    origin_file: "in the settings file", "設定ファイルで設定";
    origin_page: "added here", "この画面で追加";
    model_default: "Default", "既定";
    models_in_file:
        "To change a model of the settings file, edit the file or the environment variables, and restart Tallybook.",
        "設定ファイルのモデルを変更するには、ファイルまたは環境変数を編集して、Tallybookを再起動してください。";
    model_remove: "Remove", "削除";
}

impl Language {
    /// Returns the name of a provider, and a few words about it.
    pub(crate) const fn provider(self, provider: Provider) -> (&'static str, &'static str) {
        match provider {
            Provider::Anthropic => ("Anthropic", self.about_anthropic()),
            Provider::OpenAi => ("OpenAI", self.about_openai()),
            Provider::OpenRouter => ("OpenRouter", self.about_openrouter()),
            Provider::Gemini => ("Google Gemini", self.about_gemini()),
            Provider::Ollama => ("Ollama", self.about_ollama()),
            Provider::Compatible => (self.provider_compatible(), self.about_compatible()),
        }
    }

    /// Returns the reason why an action failed: a sentence, and details that the server sent in English.
    pub(crate) fn model_problem(self, field: Option<Field>, reason: &Reason) -> (String, Option<String>) {
        let error = match reason {
            Reason::Field(fault) => return (self.field_fault(field, *fault).to_owned(), None),
            Reason::Changed => return (self.model_changed().to_owned(), None),
            Reason::Request(error) => error,
        };
        match error {
            ApiError::Refused { code, detail, .. } if self == Self::Japanese && !detail.is_empty() => {
                let words = match code.as_str() {
                    "model-unreachable" => "提供元からモデルの一覧を取得できませんでした。",
                    "invalid-model" => "この設定は使えません。",
                    "name-taken" => {
                        return ("この表示名はすでに使われています。別の表示名にしてください。".to_owned(), None);
                    }
                    "no-such-model" => {
                        return ("このモデルは見つかりません。すでに削除された可能性があります。".to_owned(), None);
                    }
                    "set-in-file" if field.is_some() => {
                        return (
                            "この名前は設定ファイルのモデルに使われています。別の表示名にしてください。".to_owned(),
                            None,
                        );
                    }
                    "set-in-file" => return (self.models_in_file().to_owned(), None),
                    "no-secret-key" => {
                        "APIキーを保存できません。サーバーの設定SECRET_KEYを指定して、再起動してください。"
                    }
                    _ => return (error.message(self), None),
                };
                (words.to_owned(), Some(detail.clone()))
            }
            _ => (error.message(self), None),
        }
    }

    const fn field_fault(self, field: Option<Field>, fault: Fault) -> &'static str {
        let (english, japanese) = match (fault, field) {
            (Fault::Missing, Some(Field::Address)) => (
                "Enter the server's address, such as http://127.0.0.1:8000/v1.",
                "サーバーのアドレスを入力してください（例: http://127.0.0.1:8000/v1）。",
            ),
            (Fault::Missing, Some(Field::Key)) => ("Paste your API key.", "APIキーを入力してください。"),
            (Fault::Missing, Some(Field::Model)) => (
                "Choose a model, or enter the provider's name of the model.",
                "モデルを選ぶか、提供元でのモデル名を入力してください。",
            ),
            (Fault::Missing, _) => ("Enter a name for this model.", "このモデルの表示名を入力してください。"),
            (Fault::NotAnAddress, _) => (
                "Enter a full address, such as http://127.0.0.1:8000/v1.",
                "http://またはhttps://で始まるアドレスを入力してください（例: http://127.0.0.1:8000/v1）。",
            ),
            (Fault::NotAWholeNumber, _) => {
                ("Enter a whole number, such as 128000.", "整数を入力してください（例: 128000）。")
            }
            (Fault::NotANumber, _) => ("Enter a number, such as 0.5.", "数値を入力してください（例: 0.5）。"),
            (Fault::OnePrice, _) => {
                ("Enter both prices, or neither.", "価格は両方入力するか、両方空欄にしてください。")
            }
            (Fault::KeyAgain, _) => (
                "Enter the key again for this. The stored key is not shown, and is used only by the saved model.",
                "この操作にはキーの再入力が必要です。保存済みのキーは、保存済みのモデルにだけ使われます。",
            ),
        };
        match self {
            Self::English => english,
            Self::Japanese => japanese,
        }
    }

    /// Returns the words for a request that is under way.
    pub(crate) const fn model_work(self, work: Work, is_new: bool) -> &'static str {
        match work {
            Work::Finding => self.model_finding(),
            Work::Testing => self.model_testing(),
            Work::Saving if is_new => self.model_connecting(),
            Work::Saving => self.model_saving(),
            Work::Loading => self.model_loading(),
        }
    }

    /// Returns the title of the dialog that edits a model.
    pub(crate) fn edit_model(self, name: &str) -> String {
        match self {
            Self::English => format!("Edit {name}"),
            Self::Japanese => format!("{name}を編集"),
        }
    }

    /// Announces a new model.
    pub(crate) fn model_connected(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} is connected. You can choose it now."),
            Self::Japanese => format!("{name}を接続しました。すぐに選べます。"),
        }
    }

    /// Announces a changed model.
    pub(crate) fn model_saved(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} is saved."),
            Self::Japanese => format!("{name}を保存しました。"),
        }
    }

    /// Announces a removed model.
    pub(crate) fn model_removed(self, name: &str) -> String {
        match self {
            Self::English => format!("{name} is removed."),
            Self::Japanese => format!("{name}を削除しました。"),
        }
    }

    /// Asks whether to remove a model.
    pub(crate) fn confirm_model_removal(self, name: &str) -> String {
        match self {
            Self::English => {
                format!(
                    "Remove {name}? Its key is deleted. Conversations with it remain, and need another model to continue."
                )
            }
            Self::Japanese => {
                format!(
                    "{name}を削除しますか？ キーも削除されます。このモデルとの会話は残りますが、続けるには別のモデルが必要です。"
                )
            }
        }
    }

    /// Returns the number of models that a provider offers.
    pub(crate) fn models_found(self, count: usize) -> String {
        match self {
            Self::English if count == 1 => "1 model found.".to_owned(),
            Self::English => format!("{} models found.", format::count(count)),
            Self::Japanese => format!("{}件のモデルが見つかりました。", format::count(count)),
        }
    }

    /// Says that a list is longer than what it shows.
    pub(crate) fn first_of(self, shown: usize, count: usize) -> String {
        let (shown, count) = (format::count(shown), format::count(count));
        match self {
            Self::English => format!("{shown} of {count} matches. Type more to narrow them down."),
            Self::Japanese => format!("{count}件中{shown}件を表示しています。続けて入力すると絞り込めます。"),
        }
    }

    /// Returns the details of a model in the provider's list.
    pub(crate) fn offered_model(self, context_tokens: Option<u32>, vision: Option<bool>) -> String {
        let context = context_tokens.map(|tokens| {
            let tokens = format::count(usize::try_from(tokens).unwrap_or(usize::MAX));
            match self {
                Self::English => format!("{tokens} tokens"),
                Self::Japanese => format!("{tokens}トークン"),
            }
        });
        let vision = vision.filter(|sees| *sees).map(|_| self.images().to_owned());
        context.into_iter().chain(vision).collect::<Vec<_>>().join(" · ")
    }

    const fn images(self) -> &'static str {
        match self {
            Self::English => "images",
            Self::Japanese => "画像",
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

    /// Says in which way a model receives tools, and whether it reads images.
    pub(crate) fn test_facts(self, tools: ToolOffer, vision: bool) -> String {
        let tools = match tools {
            ToolOffer::Prompt => self.tools_in_prompt(),
            ToolOffer::Native | ToolOffer::Unknown => self.tools_native(),
        };
        let vision = if vision { self.yes() } else { self.no() };
        format!("{}: {tools} · {}: {vision}", self.model_tool_mode(), self.model_vision())
    }

    /// Returns the place in which a model is configured.
    pub(crate) const fn model_origin(self, origin: SettingsOrigin) -> &'static str {
        match origin {
            SettingsOrigin::File | SettingsOrigin::Unknown => self.origin_file(),
            SettingsOrigin::Page => self.origin_page(),
        }
    }
}
