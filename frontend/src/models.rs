//! The models that the user can choose from, and the model of the open conversation. A new chat starts with the model
//! that the user set or chose last, and keeps its model when it becomes a conversation.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{CatalogModel, ConversationSummary, FeedKind, ModelInfo, ModelList};
use uuid::Uuid;

use crate::{
    api, browser,
    feed::{Feed, News},
    language::{Language, use_language},
    preferences::{LAST_MODEL_COOKIE, NEW_CHAT_MODEL_COOKIE, NewChatModels},
};

/// The state of the models of this page. Its signals belong to the component that created it.
#[derive(Clone, Copy)]
pub(crate) struct Models {
    data: StoredValue<ModelData>,
    /// Changes with the catalog. A signal of the catalog itself would add much code.
    changed: RwSignal<bool>,
    /// A conversation or the new chat, and the model that was chosen there. If none was chosen, a conversation has
    /// the server's default, and a new chat has the model for new chats.
    chosen: RwSignal<(Option<Uuid>, Option<String>)>,
    /// The models that the user chose for new chats.
    new_chat: RwSignal<NewChatModels>,
    /// The reason why the last choice could not be stored, for the user.
    pub(crate) notice: RwSignal<Option<String>>,
    text: Language,
}

/// The data that is not a signal.
struct ModelData {
    /// The models, in the server's order.
    catalog: Vec<CatalogModel>,
    /// Number of choices that the user has made on this page.
    choices: u64,
    /// The conversation of the last choice.
    chosen_for: Option<Uuid>,
}

impl Models {
    /// Creates the state with the models of `list`. `opened` is the conversation that the page starts with.
    pub(crate) fn new(
        list: ModelList,
        opened: Option<&ConversationSummary>,
        new_chat: NewChatModels,
        feed: Feed,
    ) -> Self {
        let opened = opened.map_or((None, None), |summary| (Some(summary.uuid), summary.model.clone()));
        let models = Self {
            data: StoredValue::new(ModelData { catalog: list.items, choices: 0, chosen_for: None }),
            changed: RwSignal::new(false),
            chosen: RwSignal::new(opened),
            new_chat: RwSignal::new(new_chat),
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

    /// Returns all models, in the server's order. Untracked.
    pub(crate) fn all(self) -> Vec<CatalogModel> {
        self.read(<[_]>::to_vec)
    }

    fn read<T>(self, read: impl FnOnce(&[CatalogModel]) -> T) -> T {
        self.data.with_value(|data| read(&data.catalog))
    }

    fn read_tracked<T>(self, read: impl FnOnce(&[CatalogModel]) -> T) -> T {
        self.track();
        self.read(read)
    }

    /// Tracks the list of models, which an admin can change.
    pub(crate) fn track(self) {
        self.changed.track();
    }

    /// Loads the list of models again. If that fails, the page keeps the list that it has.
    pub(crate) async fn reload(self) {
        if let Ok(list) = api::list_models().await
            && self.data.try_with_value(|data| data.catalog != list.items) == Some(true)
        {
            self.data.update_value(|data| data.catalog = list.items);
            self.changed.update(|changed| *changed = !*changed);
        }
    }

    /// Returns `true` if the built-in demo model is the default. Tracked.
    pub(crate) fn is_demo_default(self) -> bool {
        self.read_tracked(|catalog| catalog.iter().any(|model| model.is_default && model.provider == "demo"))
    }

    /// Returns `true` if the user may use no model. Tracked.
    pub(crate) fn is_empty(self) -> bool {
        self.read_tracked(<[_]>::is_empty)
    }

    /// Returns `true` if there is more than one model. Tracked.
    pub(crate) fn is_choice(self) -> bool {
        self.read_tracked(|catalog| catalog.len() > 1)
    }

    /// Returns `true` if the built-in demo model is the only one. It only does arithmetic, and makes no plans. Tracked.
    pub(crate) fn is_demo(self) -> bool {
        self.read_tracked(|catalog| !catalog.is_empty() && catalog.iter().all(|model| model.provider == "demo"))
    }

    /// Returns `false` if it is known that a model reads no images.
    pub(crate) fn may_read_images(self, name: &str) -> bool {
        let refuses =
            |model: &CatalogModel| model.provider == "demo" || model.quirks.iter().any(|quirk| quirk == "no_images");
        let reads_none = |model: &CatalogModel| !model.vision && refuses(model);
        !self.read(|catalog| catalog.iter().any(|model| model.name == name && reads_none(model)))
    }

    /// Returns the name of a model that reads images.
    pub(crate) fn that_reads_images(self) -> Option<String> {
        self.read(|catalog| catalog.iter().find(|model| model.vision).map(|model| model.name.clone()))
    }

    /// Returns the name of the default model.
    pub(crate) fn default_name(self) -> String {
        self.read(|catalog| {
            let default = catalog.iter().find(|model| model.is_default);
            default.map(|model| model.name.clone()).unwrap_or_default()
        })
    }

    /// Returns the model of a conversation, or of a new chat; `None` for the server's default.
    pub(crate) fn chosen(self, conversation: Option<Uuid>) -> Option<String> {
        let chosen = self.chosen.with(|(uuid, model)| model.clone().filter(|_| *uuid == conversation));
        chosen.or_else(|| self.first().filter(|_| conversation.is_none()))
    }

    /// Returns the model of a conversation if the user has chosen it since the page was loaded, and has chosen none
    /// elsewhere since. Not tracked.
    pub(crate) fn chosen_here(self, conversation: Option<Uuid>) -> Option<String> {
        let has_chosen = conversation.is_some() && self.data.with_value(|data| data.chosen_for == conversation);
        has_chosen.then(|| untrack(|| self.chosen(conversation)).unwrap_or_else(|| self.default_name()))
    }

    /// Returns the model that new chats start with, if the user set or chose one that still exists.
    fn first(self) -> Option<String> {
        let has = |name: &str| self.read_tracked(|catalog| catalog.iter().any(|model| model.name == name));
        self.new_chat.with(|models| models.find(has).map(str::to_owned))
    }

    /// Returns the model for a new chat that is about to become a conversation; `None` for the server's default.
    pub(crate) fn chosen_for_new_chat(self) -> Option<String> {
        untrack(|| self.chosen(None)).filter(|name| *name != self.default_name())
    }

    /// Returns the model that the user set for new chats; `None` if they start with the last one chosen.
    pub(crate) fn default_for_new_chats(self) -> Option<String> {
        self.new_chat.with(|models| models.default.clone())
    }

    /// Sets the model that new chats start with; `None` for the last one chosen.
    pub(crate) fn set_default_for_new_chats(self, name: Option<String>) {
        browser::remember_text(NEW_CHAT_MODEL_COOKIE, name.as_deref().unwrap_or_default());
        self.new_chat.update(|models| models.default = name);
    }

    fn remember(self, name: &str) {
        browser::remember_text(LAST_MODEL_COOKIE, name);
        self.new_chat.update(|models| models.last = Some(name.to_owned()));
    }

    /// Stores the model of a conversation.
    pub(crate) fn learn(self, conversation: Option<Uuid>, model: Option<String>) {
        let now = (conversation, model);
        // The signal no longer exists if the page is left before a response arrives.
        if self.chosen.try_with_untracked(|chosen| *chosen != now) == Some(true) {
            self.chosen.set(now);
        }
    }

    /// Chooses a model for a conversation, or for a new chat. If the server refuses the choice, it is undone.
    pub(crate) fn choose(self, conversation: Option<Uuid>, name: String) {
        let before = untrack(|| self.chosen(conversation));
        self.remember(&name);
        // A new chat stores the default as an explicit choice, because new chats may start with another model.
        let model = Some(name).filter(|name| conversation.is_none() || *name != self.default_name());
        self.notice.set(None);
        self.learn(conversation, model.clone());
        let number = self.data.with_value(|data| data.choices) + 1;
        self.data.update_value(|data| (data.choices, data.chosen_for) = (number, conversation));
        let Some(uuid) = conversation else { return };
        spawn_local(async move {
            let Err(error) = api::choose_model(uuid, model.clone()).await else { return };
            let seen = self.chosen.try_with_untracked(|(shown, now)| (*shown == conversation, *now == model));
            let Some((true, is_still)) = seen.filter(|_| self.data.try_with_value(|data| data.choices) == Some(number))
            else {
                return;
            };
            // An event of the feed may have changed the model in the meantime.
            if is_still {
                self.learn(conversation, before);
            }
            self.notice.set(Some(error.message(self.text)));
        });
    }
}

/// Returns the default model, for the offer of a new chat.
pub(crate) fn default_info(list: &ModelList) -> ModelInfo {
    let default = list.items.iter().find(|model| model.is_default);
    let info = default.map(|model| ModelInfo { provider: model.provider.clone(), model: model.name.clone() });
    info.unwrap_or(ModelInfo { provider: String::new(), model: String::new() })
}
