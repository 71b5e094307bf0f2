//! The models that the reader can choose from, and the model of the open conversation. A new chat begins with the model that the
//! reader set or chose last, and keeps its model when it becomes a conversation.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{CatalogModel, FeedKind, ModelInfo, ModelList};
use uuid::Uuid;

use crate::{
    api, browser,
    feed::{Feed, News},
    language::{Language, use_language},
    preferences::{LAST_MODEL_COOKIE, NEW_CHAT_MODEL_COOKIE, NewChatModels},
};

/// The models of this page. Its signals belong to the component that made it.
#[derive(Clone, Copy)]
pub(crate) struct Models {
    catalog: StoredValue<Vec<CatalogModel>>,
    /// A conversation, or the new chat, and the model that was chosen there. Without one, a conversation has the default, and a new
    /// chat the one for new chats.
    chosen: RwSignal<(Option<Uuid>, Option<String>)>,
    /// The models that the reader chose for new chats.
    new_chat: RwSignal<NewChatModels>,
    /// How often one chose.
    choices: StoredValue<u64>,
    /// Why the last choice could not be stored, for the reader.
    pub(crate) notice: RwSignal<Option<String>>,
    text: Language,
}

impl Models {
    /// The models of `list`; `opened` is the conversation that the page begins with, and its model.
    pub(crate) fn new(
        list: ModelList,
        opened: (Option<Uuid>, Option<String>),
        new_chat: NewChatModels,
        feed: Feed,
    ) -> Self {
        let models = Self {
            catalog: StoredValue::new(list.items),
            chosen: RwSignal::new(opened),
            new_chat: RwSignal::new(new_chat),
            choices: StoredValue::new(0),
            notice: RwSignal::new(None),
            text: use_language(),
        };
        feed.subscribe(move |news| {
            if let News::Event(event) = news
                && event.kind == FeedKind::ConversationUpdated
                && models.chosen.with_untracked(|(uuid, _)| *uuid == Some(event.conversation_id))
            {
                models.learn(Some(event.conversation_id), event.model);
            }
        });
        models
    }

    /// All of them, the default first.
    pub(crate) fn all(self) -> Vec<CatalogModel> {
        self.catalog.get_value()
    }

    /// Whether there is anything to choose.
    pub(crate) fn is_choice(self) -> bool {
        self.catalog.with_value(|catalog| catalog.len() > 1)
    }

    /// Whether the built-in demo model alone answers, which knows arithmetic and makes no plans.
    pub(crate) fn is_demo(self) -> bool {
        self.catalog.with_value(|catalog| catalog.iter().all(|model| model.provider == "demo"))
    }

    /// The name of the default.
    pub(crate) fn default_name(self) -> String {
        self.catalog.with_value(|catalog| {
            let default = catalog.iter().find(|model| model.is_default);
            default.map(|model| model.name.clone()).unwrap_or_default()
        })
    }

    /// The model that was chosen for a conversation, or for a new chat.
    pub(crate) fn chosen(self, conversation: Option<Uuid>) -> Option<String> {
        let chosen = self.chosen.with(|(uuid, model)| model.clone().filter(|_| *uuid == conversation));
        chosen.or_else(|| self.first().filter(|_| conversation.is_none()))
    }

    /// The model that new chats begin with, if that is not the default.
    fn first(self) -> Option<String> {
        let has = |name: &str| self.catalog.with_value(|catalog| catalog.iter().any(|model| model.name == name));
        self.new_chat.with(|models| models.find(has).map(str::to_owned))
    }

    /// The model of a new chat that is about to become a conversation.
    pub(crate) fn chosen_for_new_chat(self) -> Option<String> {
        untrack(|| self.chosen(None)).filter(|name| *name != self.default_name())
    }

    /// The model that the reader set for new chats; `None` if they begin with the last one chosen.
    pub(crate) fn default_for_new_chats(self) -> Option<String> {
        self.new_chat.with(|models| models.default.clone())
    }

    /// Sets the model that new chats begin with; `None` for the last one chosen.
    pub(crate) fn set_default_for_new_chats(self, name: Option<String>) {
        browser::remember_text(NEW_CHAT_MODEL_COOKIE, name.as_deref().unwrap_or_default());
        self.new_chat.update(|models| models.default = name);
    }

    fn remember(self, name: &str) {
        browser::remember_text(LAST_MODEL_COOKIE, name);
        self.new_chat.update(|models| models.last = Some(name.to_owned()));
    }

    /// Learns which model a conversation has.
    pub(crate) fn learn(self, conversation: Option<Uuid>, model: Option<String>) {
        let now = (conversation, model);
        // Gone with the page when an answer comes late.
        if self.chosen.try_with_untracked(|chosen| *chosen != now) == Some(true) {
            self.chosen.set(now);
        }
    }

    /// Chooses a model for a conversation, or for a new chat. What the server does not take is taken back.
    pub(crate) fn choose(self, conversation: Option<Uuid>, name: String) {
        let before = untrack(|| self.chosen(conversation));
        self.remember(&name);
        // A new chat keeps a choice of the default, which may not be what new chats begin with.
        let model = Some(name).filter(|name| conversation.is_none() || *name != self.default_name());
        self.notice.set(None);
        self.learn(conversation, model.clone());
        let number = self.choices.get_value() + 1;
        self.choices.set_value(number);
        let Some(uuid) = conversation else { return };
        spawn_local(async move {
            let Err(error) = api::choose_model(uuid, model.clone()).await else { return };
            let seen = self.chosen.try_with_untracked(|(shown, now)| (*shown == conversation, *now == model));
            let Some((true, is_still)) = seen.filter(|_| self.choices.try_get_value() == Some(number)) else { return };
            // News of the conversation may have taken it back before.
            if is_still {
                self.learn(conversation, before);
            }
            self.notice.set(Some(error.message(self.text)));
        });
    }
}

/// What the default is, as the offer of a new chat knows it.
pub(crate) fn default_info(list: &ModelList) -> ModelInfo {
    let default = list.items.iter().find(|model| model.is_default);
    let info = default.map(|model| ModelInfo { provider: model.provider.clone(), model: model.name.clone() });
    info.unwrap_or(ModelInfo { provider: String::new(), model: String::new() })
}
