//! What a page begins with. The server loads it, renders the page from it and hands it on in the document, where the
//! browser side finds it and need not ask.

use leptos::prelude::document;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser::Error as _};
use serde_json::value::RawValue;
use tallybook_protocol::{Conversation, ConversationSummary, ModelList, Page};

use crate::{
    address::Address,
    data::{NEWEST, PageData, PageError},
    language::Language,
    models::default_info,
    offer::Offer,
    preferences::NewChatModels,
    text::page_title,
};

/// The element that holds a [`Start`] for the browser.
pub(crate) const START_ID: &str = "start";

/// What a page begins with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) address: Address,
    /// The address of the folder with the page's program, which is another one in each version.
    pub(crate) folder: String,
    /// The newest conversations.
    pub(crate) list: Result<Page<ConversationSummary>, PageError>,
    /// What is open.
    pub(crate) content: Content,
    /// The models that answer.
    pub(crate) models: ModelList,
    /// The models that the reader chose for new chats.
    pub(crate) new_chat_models: NewChatModels,
    /// What a new chat shows of what can be asked.
    pub(crate) offer: Offer,
    /// What the reader signed in with; `None` where nobody has to.
    pub(crate) person: Option<String>,
    /// `true` if others changed the user's account and the user has not acknowledged it.
    pub(crate) is_account_changed: bool,
}

/// What is at an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Content {
    NewChat,
    Conversation(Sent),
    /// What the page itself has loaded.
    Settings,
    Missing,
    /// It could not be loaded, for this reason.
    Failed(String),
}

/// A conversation that a page begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// As the server has it.
    Read(Box<Conversation>),
    /// As a browser gets it: the page is alive before the code is here that reads messages.
    Unread { summary: Box<ConversationSummary>, json: String },
}

impl Sent {
    /// What lists show of it.
    pub(crate) fn summary(&self) -> &ConversationSummary {
        match self {
            Self::Read(conversation) => &conversation.summary,
            Self::Unread { summary, .. } => summary,
        }
    }
}

impl Serialize for Sent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Read(conversation) => conversation.serialize(serializer),
            Self::Unread { .. } => Err(S::Error::custom("only a server hands a conversation on")),
        }
    }
}

impl<'de> Deserialize<'de> for Sent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json: String = Box::<str>::from(Box::<RawValue>::deserialize(deserializer)?).into();
        let summary = serde_json::from_str(&json).map_err(D::Error::custom)?;
        Ok(Self::Unread { summary, json })
    }
}

impl Start {
    /// Asks the server's data for what `address` needs, and sets the status that goes with what was found.
    pub(crate) async fn load(address: Address, folder: &str, data: &dyn PageData) -> Self {
        let person = data.person();
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
        // If the list could not be loaded, the database is away, and so is this.
        let is_account_changed = list.is_ok() && data.has_account_changes().await.unwrap_or_default();
        let models = data.models();
        let offer = Offer::new(data.tools(), &default_info(&models));
        let (folder, new_chat_models) = (folder.to_owned(), data.new_chat_models());
        Self { address, folder, list, content, models, new_chat_models, offer, person, is_account_changed }
    }

    /// As text in the element [`START_ID`]: JSON within a JSON string. The string's escapes keep a `</script>` in
    /// somebody's words from ending the element, and leave the text of the JSON within as it is.
    pub(crate) fn to_text(&self) -> Option<String> {
        let json = serde_json::to_string(self).and_then(|json| serde_json::to_string(&json)).ok()?;
        Some(json.replace('<', "\\u003c"))
    }

    /// The one in the document; `None` where the server left none.
    #[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "only a browser has a document"))]
    pub(crate) fn from_document() -> Option<Self> {
        let text = document().get_element_by_id(START_ID)?.text_content()?;
        let json: String = serde_json::from_str(&text).ok()?;
        serde_json::from_str(&json).ok()
    }
}

impl Content {
    fn of(found: Result<Option<Conversation>, PageError>) -> Self {
        match found {
            Ok(Some(conversation)) => Self::Conversation(Sent::Read(Box::new(conversation))),
            Ok(None) => Self::Missing,
            Err(error) => Self::Failed(error.message),
        }
    }

    /// What the browser's tab is named, in `text`.
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
    use super::{Address, Content, ModelList, NewChatModels, Offer, PageError, Start};

    #[test]
    fn words_in_the_document_end_no_script_and_come_back_as_they_were() {
        let told = r#"{"a":"</script><!-- \u003c \" -->","b":1.10}"#;
        let start = Start {
            address: Address::NewChat,
            folder: "/pkg/1".to_owned(),
            list: Err(PageError::new("</script>")),
            content: Content::Failed(told.to_owned()),
            models: ModelList::default(),
            new_chat_models: NewChatModels::default(),
            offer: Offer::default(),
            person: None,
            is_account_changed: false,
        };
        let text = start.to_text().unwrap();
        assert!(!text.contains('<'), "{text}");
        let json: String = serde_json::from_str(&text).unwrap();
        let read: Start = serde_json::from_str(&json).unwrap();
        assert_eq!(read.content, start.content);
        assert_eq!(read.list, start.list);
    }
}
