//! Where a page's data comes from while the server renders it: [`PageData`], which the server implements. In the browser
//! it comes from the REST API.

use std::{future::Future, pin::Pin};

use serde::{Deserialize, Serialize};
use tallybook_protocol::{Conversation, ConversationSummary, ModelList, Page, ToolInfo, Window};
use uuid::Uuid;

use crate::preferences::{NewChatModels, Preferences};

/// How many messages of a conversation are loaded at a time, the newest first.
pub(crate) const MESSAGES_AT_ONCE: u32 = 50;

/// Of a conversation that is opened.
pub(crate) const NEWEST: Window = Window { limit: Some(MESSAGES_AT_ONCE), before: None, from: None };

/// What a page needs while it is rendered on the server. It stands for the person who asks, and
/// all but the futures' work is called within the reactive owner of the request.
pub trait PageData: Send + Sync {
    /// The path that was asked for, e.g. `/c/…`.
    fn pathname(&self) -> String;

    /// The newest conversations: the first page of the list.
    fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>>;

    /// One conversation with those of its messages that `window` asks for; `None` when there is none that this person may
    /// see.
    fn find_conversation(&self, uuid: Uuid, window: Window) -> PageFuture<Option<Conversation>>;

    /// The models that answer, at least one.
    fn models(&self) -> ModelList;

    /// The tools that they have.
    fn tools(&self) -> Vec<ToolInfo>;

    /// What the reader chose, or asks for.
    fn preferences(&self) -> Preferences;

    /// The models that the reader chose for new chats.
    fn new_chat_models(&self) -> NewChatModels;

    /// What this person signed in with; `None` where nobody has to.
    fn person(&self) -> Option<String>;

    /// Returns `true` if others changed this user's account and the user has not acknowledged it.
    fn has_account_changes(&self) -> PageFuture<bool>;

    /// The id of this person, under which the browser keeps what is being written.
    fn user_id(&self) -> i64;

    /// Sets the HTTP status of the answer, e.g. 404 when the page says that there is nothing here. Called at most once.
    fn set_status(&self, status: u16);
}

/// What the methods of [`PageData`] return.
pub type PageFuture<T> = Pin<Box<dyn Future<Output = Result<T, PageError>> + Send>>;

/// Why a page lacks its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageError {
    /// What is wrong and what to do, in a plain sentence for the reader.
    pub message: String,
}

impl PageError {
    /// An error that tells the reader `message`.
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
