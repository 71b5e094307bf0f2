//! Texts about the list of conversations, and about searching it.

use tallybook_protocol::ConversationSummary;

use crate::{conversation_list::UndoableAction, language::Language};

impl Language {
    /// Returns the position among the matches of a search, counted from 1.
    pub(crate) fn match_of(self, at: usize, count: usize, has_more: bool) -> String {
        let more = if has_more { "+" } else { "" };
        match self {
            Self::English => format!("{at} of {count}{more}"),
            Self::Japanese if has_more => format!("{count}件以上のうち{at}件目"),
            Self::Japanese => format!("{count}件中{at}件目"),
        }
    }

    /// Returns the number of matches.
    pub(crate) fn match_count(self, count: usize, has_more: bool) -> String {
        let more = if has_more { "+" } else { "" };
        match self {
            Self::English if count == 1 && !has_more => "1 match".to_owned(),
            Self::English => format!("{count}{more} matches"),
            Self::Japanese if has_more => format!("{count}件以上"),
            Self::Japanese => format!("{count}件"),
        }
    }

    /// Accessible name of the button that opens a conversation's menu.
    pub(crate) fn more_actions_for(self, title: &str) -> String {
        match self {
            Self::English => format!("More actions for “{title}”"),
            Self::Japanese => format!("「{title}」のその他の操作"),
        }
    }

    /// Returns the number of selected conversations.
    pub(crate) fn selected_count(self, count: usize) -> String {
        match self {
            Self::English => format!("{count} selected"),
            Self::Japanese => format!("{count}件を選択中"),
        }
    }

    /// Label of the button that selects the loaded conversations, if the list has more.
    pub(crate) fn select_all_loaded(self, count: usize) -> String {
        match self {
            Self::English => format!("Select all {count} loaded"),
            Self::Japanese => format!("読み込み済みの{count}件をすべて選択"),
        }
    }

    /// Notice of an action on conversations that can be undone.
    pub(crate) fn undo_notice(self, action: UndoableAction, conversations: &[ConversationSummary]) -> String {
        let which = match (self, conversations) {
            (Self::English, [one]) => format!("“{}”", one.title),
            (Self::Japanese, [one]) => format!("「{}」", one.title),
            (Self::English, several) => format!("{} conversations", several.len()),
            (Self::Japanese, several) => format!("{}件の会話", several.len()),
        };
        match (self, action) {
            (Self::English, UndoableAction::Archived) => format!("Archived {which}."),
            (Self::English, UndoableAction::Unarchived) => format!("Unarchived {which}."),
            (Self::English, UndoableAction::Deleted) => format!("Deleted {which}."),
            (Self::Japanese, UndoableAction::Archived) => format!("{which}をアーカイブしました。"),
            (Self::Japanese, UndoableAction::Unarchived) => format!("{which}をアーカイブから戻しました。"),
            (Self::Japanese, UndoableAction::Deleted) => format!("{which}を削除しました。"),
        }
    }
}
