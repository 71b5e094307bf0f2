//! Texts of a shared conversation, which only the server writes.
#![cfg_attr(not(feature = "ssr"), allow(dead_code, reason = "only the server writes these texts"))]

use crate::language::Language;

texts! {
    shared_texts;

    question: "Question", "質問";
    shared_cut_off: "The answer was cut off here.", "回答はここで途切れています。";
    shared_as_text: "Plain text", "テキスト形式";
    shared_beginning: "Only the beginning is shown.", "先頭部分のみ表示しています。";
    not_shared:
        "This link shows nothing. It may have been taken back, or the conversation deleted.",
        "このリンクには何もありません。リンクが取り消されたか、会話が削除された可能性があります。";
}

impl Language {
    /// When what a link shows was shared.
    pub(crate) fn shared_on(self, date: &str) -> String {
        match self {
            Self::English => format!("A conversation with an assistant, as it was when it was shared on {date}."),
            Self::Japanese => format!("アシスタントとの会話です（{date}の共有時点の内容）。"),
        }
    }
}
