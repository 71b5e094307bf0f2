//! Initial data of a page. The server loads it, renders the page from it, and embeds it in the document. The browser
//! reads it from there, and needs no request for it.

use leptos::prelude::document;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::value::RawValue;
use tallybook_protocol::{Conversation, ConversationSummary, ModelList, Page, Rights};

use crate::{
    address::Address,
    data::{NEWEST, PageData, PageError, Permitted},
    i18n::page_title,
    language::Language,
    models::default_info,
    new_chat::NewChatInfo,
    preferences::NewChatModels,
};

/// ID of the element that holds a [`Start`] for the browser.
pub(crate) const START_ID: &str = "start";

/// Initial data of a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) address: Address,
    /// Address of the folder with the page's WASM module, which differs in each version.
    pub(crate) folder: String,
    /// The first page of the list of conversations, the newest.
    pub(crate) list: Result<Page<ConversationSummary>, PageError>,
    /// The content at the address.
    pub(crate) content: Content,
    /// The models that can answer.
    pub(crate) models: ModelList,
    /// The models that the user chose for new chats.
    pub(crate) new_chat_models: NewChatModels,
    /// The tools and example questions of a new chat.
    pub(crate) offer: NewChatInfo,
    /// The name that the user signed in with; `None` if the server needs no sign-in.
    pub(crate) user_name: Option<String>,
    /// `true` if the user is an admin, who may connect models.
    pub(crate) is_admin: bool,
    /// The user's rights. What the user may not do is not offered.
    pub(crate) rights: Rights,
    /// `true` if another user changed the user's account and the user has not acknowledged it.
    pub(crate) is_account_changed: bool,
    /// `true` if a budget may apply to the user.
    pub(crate) may_have_budgets: bool,
}

/// The content at an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Content {
    NewChat,
    Conversation(SentContent),
    /// The settings. The page loads their content itself.
    Settings,
    Missing,
    /// The content could not be loaded, for this reason.
    Failed(String),
}

/// The conversation that a page starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SentContent {
    /// The conversation as the server has it.
    Read(Box<Conversation>),
    /// The conversation as the browser gets it. The page becomes interactive before the code that parses messages is
    /// loaded.
    Unread { summary: Box<ConversationSummary>, json: String },
}

impl SentContent {
    /// Returns the fields that lists show.
    pub(crate) fn summary(&self) -> &ConversationSummary {
        match self {
            Self::Read(conversation) => &conversation.summary,
            Self::Unread { summary, .. } => summary,
        }
    }
}

impl Serialize for SentContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Read(conversation) => conversation.serialize(serializer),
            Self::Unread { .. } => Err(S::Error::custom("only a server hands a conversation on")),
        }
    }
}

impl<'de> Deserialize<'de> for SentContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json: String = Box::<str>::from(Box::<RawValue>::deserialize(deserializer)?).into();
        let summary = serde_json::from_str(&json).map_err(D::Error::custom)?;
        Ok(Self::Unread { summary, json })
    }
}

impl Start {
    /// Loads the data that the page at `address` needs, and sets the HTTP status of the response.
    pub(crate) async fn load(address: Address, folder: &str, data: &dyn PageData) -> Self {
        let (user_name, is_admin) = (data.user_name(), data.is_admin());
        let list = data.list_conversations().await;
        let content = match address {
            Address::NewChat => Content::NewChat,
            Address::Conversation(uuid) => Content::of(data.find_conversation(uuid, NEWEST).await),
            Address::Settings => Content::Settings,
            Address::Malformed => Content::Missing,
        };
        match content {
            Content::Missing => data.set_status(404),
            Content::Failed(_) => data.set_status(503),
            Content::NewChat | Content::Conversation(_) | Content::Settings => {}
        }
        // If the list could not be loaded, the database is unreachable, so the rest would fail, too.
        let is_account_changed = list.is_ok() && data.has_account_changes().await.unwrap_or_default();
        let Permitted { models, tools, rights } = match &list {
            Ok(_) => data.permitted().await.unwrap_or_default(),
            Err(_) => Permitted::default(),
        };
        let offer = NewChatInfo::new(&tools, default_info(&models).provider == "demo");
        Self {
            address,
            folder: folder.to_owned(),
            list,
            content,
            models,
            new_chat_models: data.new_chat_models(),
            offer,
            user_name,
            is_admin,
            rights,
            is_account_changed,
            may_have_budgets: data.may_have_budgets(),
        }
    }

    /// Returns the text of the element [`START_ID`]: JSON within a JSON string. Because `<` is escaped in that
    /// string, a `</script>` in a user's text cannot end the element. The inner JSON is unchanged.
    pub(crate) fn to_text(&self) -> Option<String> {
        let json = serde_json::to_string(self).and_then(|json| serde_json::to_string(&json)).ok()?;
        Some(json.replace('<', "\\u003c"))
    }

    /// Returns the data in the document; `None` if the document has none.
    #[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "only the browser has a document"))]
    pub(crate) fn from_document() -> Option<Self> {
        let text = document().get_element_by_id(START_ID)?.text_content()?;
        let json: String = serde_json::from_str(&text).ok()?;
        serde_json::from_str(&json).ok()
    }
}

impl Content {
    fn of(found: Result<Option<Conversation>, PageError>) -> Self {
        match found {
            Ok(Some(conversation)) => Self::Conversation(SentContent::Read(Box::new(conversation))),
            Ok(None) => Self::Missing,
            Err(error) => Self::Failed(error.message),
        }
    }

    /// Returns the title of the browser's tab, in the language `text`.
    pub(crate) fn title(&self, text: Language) -> String {
        page_title(match self {
            Self::NewChat => None,
            Self::Conversation(opened) => Some(&opened.summary().title),
            Self::Settings => Some(text.settings()),
            Self::Missing => Some(text.not_found_title()),
            Self::Failed(_) => Some(text.failed_title()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Content, ModelList, NewChatInfo, NewChatModels, PageError, Rights, Start};

    #[test]
    fn text_in_the_document_cannot_end_the_script_and_is_unchanged() {
        let message = r#"{"a":"</script><!-- \u003c \" -->","b":1.10}"#;
        let start = Start {
            address: Address::NewChat,
            folder: "/pkg/1".to_owned(),
            list: Err(PageError::new("</script>")),
            content: Content::Failed(message.to_owned()),
            models: ModelList::default(),
            new_chat_models: NewChatModels::default(),
            offer: NewChatInfo::default(),
            user_name: None,
            is_admin: false,
            rights: Rights::default(),
            is_account_changed: false,
            may_have_budgets: false,
        };
        let text = start.to_text().unwrap();
        assert!(!text.contains('<'), "{text}");
        let json: String = serde_json::from_str(&text).unwrap();
        let read: Start = serde_json::from_str(&json).unwrap();
        assert_eq!(read.content, start.content);
        assert_eq!(read.list, start.list);
    }
}
