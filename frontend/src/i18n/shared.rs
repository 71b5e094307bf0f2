//! Texts of the page of a shared conversation, which only the server renders.
#![cfg_attr(not(feature = "ssr"), allow(dead_code, reason = "only the server writes these texts"))]

use crate::language::Language;

texts! {
    shared_texts;

    question: "Question", "質問";
    shared_cut_off: "The answer was cut off here.", "回答はここで途切れています。";
    shared_as_text: "Plain text", "テキスト形式";
    continue_shared: "Continue in your own chat", "自分のチャットで続ける";
    sign_in_to_continue: "Sign in to continue in your own chat", "サインインして自分のチャットで続ける";
    shared_beginning: "Only the beginning is shown.", "先頭部分のみ表示しています。";
    not_shared:
        "This link does not work. It may have been revoked, or the conversation may have been deleted.",
        "このリンクは無効です。リンクが取り消されたか、会話が削除された可能性があります。";
}

impl Language {
    /// Says when the conversation was shared.
    pub(crate) fn shared_on(self, date: &str) -> String {
        match self {
            Self::English => format!("A conversation with an AI assistant, as shared on {date}."),
            Self::Japanese => format!("AIアシスタントとの会話です（{date}に共有された時点の内容）。"),
        }
    }
}
