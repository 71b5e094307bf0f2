//! The state of a message's view: opened items, copied parts, and the session for its actions.

use std::collections::BTreeSet;

use leptos::prelude::*;
use tallybook_protocol::MessageId;

use super::menu::OpenMenu;
use crate::{
    components::{
        dialogs::file_viewer::FileView,
        message::{
            explanation::Explanation,
            feedback::AnswerRating,
            fork::Fork,
            shown::{Played, ShownMessage, Used},
        },
    },
    language::{Language, use_language},
    message::CopyOutcome,
    models::Models,
    transcript::{ItemKey, Toggles},
};

/// State of a message.
#[derive(Clone, Copy)]
pub(super) struct MessageState {
    pub(super) id: MessageId,
    pub(super) shown: ShownMessage,
    pub(super) text: Language,
    pub(super) models: Option<Models>,
    pub(super) played: Option<Played>,
    pub(super) file_view: Option<FileView>,
    pub(super) used: Option<Used>,
    pub(super) toggles: RwSignal<Toggles>,
    pub(super) opened_groups: RwSignal<BTreeSet<ItemKey>>,
    pub(super) is_unfolded: RwSignal<bool>,
    pub(super) copied: RwSignal<Option<CopyOutcome>>,
    pub(super) explanation: RwSignal<Option<Explanation>>,
    pub(super) rating: AnswerRating,
    /// The menu that all messages share.
    pub(super) menu: Option<OpenMenu>,
    pub(super) is_menu_open: RwSignal<bool>,
    pub(super) fork: StoredValue<Fork>,
}

impl MessageState {
    /// Creates the state of a message with which the user has done nothing yet.
    pub(super) fn new(id: MessageId, shown: ShownMessage) -> Self {
        Self {
            id,
            shown,
            text: use_language(),
            models: use_context(),
            played: use_context(),
            file_view: use_context(),
            used: use_context(),
            toggles: RwSignal::default(),
            opened_groups: RwSignal::default(),
            is_unfolded: RwSignal::new(false),
            copied: RwSignal::new(None),
            explanation: RwSignal::new(None),
            rating: AnswerRating::new(id, shown.entry),
            menu: use_context(),
            is_menu_open: RwSignal::new(false),
            fork: StoredValue::new(Fork::default()),
        }
    }
}
