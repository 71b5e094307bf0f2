//! Data source of a page while the server renders it: [`PageData`], which the server implements. The browser gets its
//! data from the REST API instead.

use std::{future::Future, pin::Pin};

use serde::{Deserialize, Serialize};
use tallybook_protocol::{Conversation, ConversationSummary, ModelList, Page, Rights, ToolInfo, Window};
use uuid::Uuid;

use crate::preferences::{NewChatModels, Preferences};

/// Number of messages that are loaded at a time, the newest first.
pub(crate) const MESSAGES_AT_ONCE: u32 = 50;

/// The messages that are loaded when a conversation is opened.
pub(crate) const NEWEST: Window = Window { limit: Some(MESSAGES_AT_ONCE), before: None, from: None };

/// Models, tools and rights of a user.
#[derive(Clone, Debug, Default)]
pub struct Permitted {
    /// The models that the user may use.
    pub models: ModelList,
    /// The tools of the models.
    pub tools: Vec<ToolInfo>,
    /// The user's rights.
    pub rights: Rights,
}

/// The data that the server needs to render a page for one user. All methods are called within the reactive owner of
/// the request; only the returned futures run outside of it.
pub trait PageData: Send + Sync {
    /// Returns the requested path, for example `/c/…`.
    fn pathname(&self) -> String;

    /// Loads the first page of the list of conversations, the newest.
    fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>>;

    /// Loads a conversation with the messages in `window`; `None` if it does not exist or the user may not see it.
    fn find_conversation(&self, uuid: Uuid, window: Window) -> PageFuture<Option<Conversation>>;

    /// Returns what the user may use.
    fn permitted(&self) -> PageFuture<Permitted>;

    /// Returns the user's preferences: choices, or the settings of the user's browser.
    fn preferences(&self) -> Preferences;

    /// Returns the models that the user chose for new chats.
    fn new_chat_models(&self) -> NewChatModels;

    /// Returns the name that the user signed in with; `None` if the server needs no sign-in.
    fn user_name(&self) -> Option<String>;

    /// Returns `true` if the user is an admin, or the owner of a server without accounts.
    fn is_admin(&self) -> bool;

    /// Returns `true` if another user changed this user's account and the user has not acknowledged it.
    fn has_account_changes(&self) -> PageFuture<bool>;

    /// Returns `true` if a budget may apply to the user.
    fn may_have_budgets(&self) -> bool;

    /// Returns the user's ID, which is part of the keys of drafts in the browser.
    fn user_id(&self) -> i64;

    /// Sets the HTTP status of the response, for example 404 if the page does not exist. Called at most once.
    fn set_status(&self, status: u16);
}

/// Return type of the methods of [`PageData`].
pub type PageFuture<T> = Pin<Box<dyn Future<Output = Result<T, PageError>> + Send>>;

/// The reason why a page has no data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageError {
    /// A plain sentence for the user: the problem, and how to solve it.
    pub message: String,
}

impl PageError {
    /// Creates an error with this message for the user.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl std::fmt::Display for PageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PageError {}
