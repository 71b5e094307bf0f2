//! Texts about the fields of a model in the dialog that connects models, and about the test of a model.

use tallybook_protocol::TestedToolMode;

use crate::{format, language::Language, setup::Provider};

texts! {
    model_setup_texts;

    // The provider.
    model_provider: "Provider", "提供元";
    provider_compatible: "OpenAI-compatible server", "OpenAI互換サーバー";
    about_anthropic: "Claude models", "Claudeのモデル";
    about_openai: "GPT models", "GPTのモデル";
    about_openrouter: "Many providers, one key", "1つのキーで多くのモデル";
    about_gemini: "Gemini models", "Geminiのモデル";
    about_ollama: "Models on your own machine", "自分のマシンで動くモデル";
    about_compatible: "vLLM, LM Studio, llama.cpp, …", "vLLM、LM Studio、llama.cppなど";

    // The connection.
    model_address_hint:
        "The server's API address, as Tallybook's server reaches it. It usually ends in /v1.",
        "TallybookのサーバーからアクセスできるAPIのアドレスです。通常は/v1で終わります。";
    model_key: "API key", "APIキー";
    model_key_optional: "API key (if the server needs one)", "APIキー（必要な場合）";
    model_key_hint: "The key is stored encrypted, and is never shown again.", "キーは暗号化して保存され、再び表示されることはありません。";
    model_key_kept: "Leave this empty to keep the current key.", "空欄のままにすると、現在のキーを使い続けます。";
    model_key_get: "Get a key", "キーを取得";
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

    // Further settings.
    model_context: "Context size, in tokens", "コンテキスト長（トークン）";
    model_max_tokens: "Longest answer, in tokens", "回答の最大トークン数";
    model_tool_mode: "Tools", "ツール";
    tools_auto: "Automatic", "自動";
    tools_native: "Native", "ネイティブ";
    tools_in_prompt: "In the prompt", "プロンプト経由";
    tools_uncalled: "the model did not call one when asked to", "呼び出すよう指示しても、呼び出しませんでした";
    model_vision: "Reads images", "画像の読み取り";
    vision_auto: "Automatic", "自動";
    model_input_price: "Price of input, per million tokens", "入力の価格（100万トークンあたり）";
    model_output_price: "Price of output, per million tokens", "出力の価格（100万トークンあたり）";
    model_temperature: "Temperature, from 0 to 2", "温度（0〜2）";
    provider_found: "Found on this server", "このサーバーで見つかりました";
    model_reasoning_effort: "Reasoning effort", "推論の強さ";
    model_thinking_tokens: "Tokens for reasoning", "推論に使うトークン数";
    model_quirks: "Quirks of the server", "サーバーの制限";
    model_quirks_hint:
        "Parts of a request that the server refuses, such as no_stop, no_temperature. With =false, a part is always sent.",
        "サーバーが受け付けないリクエストの要素です（例: no_stop, no_temperature）。=falseを付けると、常に送信します。";
    model_stored_key: "Stored key", "保存済みのキー";
    stored_key_keep: "Keep", "残す";
    stored_key_remove: "Remove", "削除する";

    // The test.
    model_test_passed: "The model answered", "モデルが応答しました";
    model_test_failed: "The model did not answer", "モデルが応答しませんでした";

    // The settings.
    model_default: "Default", "既定";
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

    /// Says in which way a model receives tools, and whether it reads images.
    pub(crate) fn test_facts(self, tools: TestedToolMode, vision: bool) -> String {
        let tools = match tools {
            TestedToolMode::Prompted => self.tools_in_prompt(),
            TestedToolMode::Native => self.tools_native(),
            TestedToolMode::Unknown => self.tools_uncalled(),
        };
        let vision = if vision { self.yes() } else { self.no() };
        format!("{}: {tools} · {}: {vision}", self.model_tool_mode(), self.model_vision())
    }
}
