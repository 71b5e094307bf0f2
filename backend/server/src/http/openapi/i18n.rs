//! Text of the API page, in English and Japanese. The API document itself is in English.

use tallybook_frontend::Language;

use super::{super::i18n::words, operation::Access};

/// The text in one language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Messages(pub(crate) Language);

words! {
    title: "API", "API";
    back_to_chat: "Back to the chat", "チャットに戻る";
    document: "OpenAPI document", "OpenAPIドキュメント";
    contents: "Contents", "目次";
    before: "Before you begin", "はじめに";
    set_variables: "The examples read where the server is and your key from the environment:",
        "サンプルは、サーバーのアドレスとキーを環境変数から読み取ります:";
    make_key: "Make a key in the settings, under “API keys”, or by", "APIキーは設定画面の「APIキー」で作成するか、次のAPIで作成します:";
    no_key: "Nobody signs in here, so any key will do.", "このサーバーではサインインが不要なため、キーは任意の文字列で構いません。";
    parameters: "Parameters", "パラメーター";
    body: "Body", "ボディ";
    optional_body: "Body, which may be left out", "ボディ（省略可）";
    answers: "Answers", "レスポンス";
    refusals: "Refusals", "エラー";
    example: "Example", "例";
    required: "required", "必須";
    schemas: "Shapes", "データ型";
    schemas_lead: "What bodies and answers are made of.", "リクエストとレスポンスを構成する型です。";
    one_of: "One of these:", "次のいずれか:";
    headers: "Headers", "ヘッダー";
}

impl Messages {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "templates pass references")]
    pub(crate) const fn access(self, access: &Access) -> &'static str {
        match (self.0, access) {
            (Language::English, Access::Everybody) => "Everybody may.",
            (Language::English, Access::KeyOrSession) => "With a key, or signed in.",
            (Language::English, Access::Session) => "Signed in at a browser; not with a key.",
            (Language::Japanese, Access::Everybody) => "誰でも使えます。",
            (Language::Japanese, Access::KeyOrSession) => "キー、またはサインインが必要です。",
            (Language::Japanese, Access::Session) => "ブラウザーでのサインインが必要です（キーでは使えません）。",
        }
    }
}
