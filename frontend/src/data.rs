//! Where a page's data comes from: on the server through [`PageData`], in the browser through the REST API. Pages ask
//! here and need not know on which side they are.

use std::{future::Future, pin::Pin, sync::Arc};

use leptos::prelude::use_context;
use serde::{Deserialize, Serialize};
use tallybook_protocol::{Conversation, ConversationSummary, ModelInfo, Page, Window};
use uuid::Uuid;

use crate::{
    language::{Language, use_language},
    preferences::Preferences,
};

/// How many messages of a conversation are loaded at a time, the newest first.
pub(crate) const MESSAGES_AT_ONCE: u32 = 50;

/// What a page needs while it is rendered on the server. The server puts an `Arc<dyn PageData>` for the person who asks
/// into the context of each request.
pub trait PageData: Send + Sync {
    /// The newest conversations: the first page of the list.
    fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>>;

    /// One conversation with those of its messages that `window` asks for; `None` when there is none that this person may
    /// see.
    fn find_conversation(&self, uuid: Uuid, window: Window) -> PageFuture<Option<Conversation>>;

    /// The model that answers.
    fn model(&self) -> ModelInfo;

    /// What the reader chose, or asks for. Called within the reactive owner of the request.
    fn preferences(&self) -> Preferences;

    /// Sets the HTTP status of the answer, e.g. 404 when the page says that there is nothing here. Called at most once,
    /// within the reactive owner of the request.
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

/// The source of data on this side.
#[derive(Clone)]
pub(crate) struct Source {
    server: Option<Arc<dyn PageData>>,
    text: Language,
}

impl Source {
    /// To be called while a component is built: the context is not at hand later.
    pub(crate) fn from_context() -> Self {
        Self { server: use_context(), text: use_language() }
    }

    pub(crate) fn list_conversations(&self) -> PageFuture<Page<ConversationSummary>> {
        self.server.as_ref().map_or_else(|| remote::list_conversations(self.text), |data| data.list_conversations())
    }

    /// A conversation as it is opened: with its newest messages.
    pub(crate) fn find_conversation(&self, uuid: Uuid) -> PageFuture<Option<Conversation>> {
        let newest = Window { limit: Some(MESSAGES_AT_ONCE), ..Window::default() };
        let remote = || remote::find_conversation(uuid, newest, self.text);
        self.server.as_ref().map_or_else(remote, |data| data.find_conversation(uuid, newest))
    }

    /// The model that answers; known only on the server, which hands it on with the page.
    pub(crate) fn model(&self) -> Option<ModelInfo> {
        self.server.as_ref().map(|data| data.model())
    }

    pub(crate) fn set_status(&self, status: u16) {
        if let Some(data) = &self.server {
            data.set_status(status);
        }
    }
}

/// What the reader prefers: the server asks the request, the browser reads what the server wrote into the document.
pub(crate) fn preferences() -> Preferences {
    use_context::<Arc<dyn PageData>>().map_or_else(remote::preferences, |data| data.preferences())
}

/// The REST API, for a browser.
#[cfg(feature = "hydrate")]
mod remote {
    use send_wrapper::SendWrapper;
    use tallybook_protocol::{Conversation, ConversationSummary, Page, Window};
    use uuid::Uuid;

    use super::{PageError, PageFuture};
    use crate::{api, language::Language};

    pub(super) use crate::browser::preferences;

    // A browser has one thread for all of this, so the wrapper's check never fails.
    pub(super) fn list_conversations(text: Language) -> PageFuture<Page<ConversationSummary>> {
        Box::pin(SendWrapper::new(async move {
            api::list_conversations("", None).await.map_err(|error| PageError::new(error.message(text)))
        }))
    }

    pub(super) fn find_conversation(uuid: Uuid, window: Window, text: Language) -> PageFuture<Option<Conversation>> {
        Box::pin(SendWrapper::new(async move {
            api::find_conversation(uuid, window).await.map_err(|error| PageError::new(error.message(text)))
        }))
    }
}

/// On a server without [`PageData`], as while the list of routes is drawn up: there is no data.
#[cfg(not(feature = "hydrate"))]
mod remote {
    use tallybook_protocol::{Conversation, ConversationSummary, Page, Window};
    use uuid::Uuid;

    use super::{PageError, PageFuture};
    use crate::{language::Language, preferences::Preferences};

    pub(super) fn preferences() -> Preferences {
        Preferences::default()
    }

    pub(super) fn list_conversations(text: Language) -> PageFuture<Page<ConversationSummary>> {
        Box::pin(async move { Err(PageError::new(text.no_data())) })
    }

    pub(super) fn find_conversation(_uuid: Uuid, _window: Window, text: Language) -> PageFuture<Option<Conversation>> {
        Box::pin(async move { Err(PageError::new(text.no_data())) })
    }
}
