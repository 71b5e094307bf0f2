//! Text of the API page, in English and Japanese. The API document itself is in English.

use tallybook_frontend::Language;

use super::{super::i18n::messages, operation::Access};

/// The text in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Messages(pub(crate) Language);

messages! {
    title: "API", "API";
    back_to_chat: "Back to chat", "チャットに戻る";
    document: "OpenAPI document", "OpenAPIドキュメント";
    contents: "Contents", "目次";
    before: "Before you begin", "はじめに";
    set_variables: "The examples read the server's URL and your API key from environment variables:",
        "サンプルは、サーバーのアドレスとAPIキーを環境変数から読み取ります:";
    make_key: "Create an API key in the settings, under “API keys”, or with", "APIキーは設定画面の「APIキー」で作成するか、次のAPIで作成します:";
    no_key: "This server does not require sign-in, so any key works.", "このサーバーではサインインが不要なため、APIキーは任意の文字列で構いません。";
    parameters: "Parameters", "パラメーター";
    body: "Body", "ボディ";
    optional_body: "Body (optional)", "ボディ（省略可）";
    answers: "Responses", "レスポンス";
    refusals: "Errors", "エラー";
    example: "Example", "例";
    required: "required", "必須";
    schemas: "Schemas", "データ型";
    schemas_lead: "Types of the request and response bodies.", "リクエストとレスポンスを構成する型です。";
    one_of: "One of:", "次のいずれか:";
    headers: "Headers", "ヘッダー";
}

impl Messages {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub(crate) const fn access(self, access: &Access) -> &'static str {
        match (self.0, access) {
            (Language::English, Access::Everybody) => "No authentication required.",
            (Language::English, Access::KeyOrSession) => "Requires an API key or a session.",
            (Language::English, Access::Session) => "Requires a browser session. API keys are refused.",
            (Language::Japanese, Access::Everybody) => "認証は不要です。",
            (Language::Japanese, Access::KeyOrSession) => "APIキー、またはサインインが必要です。",
            (Language::Japanese, Access::Session) => "ブラウザーでのサインインが必要です（APIキーは使えません）。",
        }
    }
}
