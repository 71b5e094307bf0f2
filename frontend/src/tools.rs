//! The tools of the page, and which of them are disabled in the open conversation. A new chat has a choice of its
//! own, which it keeps when it becomes a conversation.

mod choice;

use choice::{Names, ToolChoice};
use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{DisabledTools, ToolInfo, ToolList};
use uuid::Uuid;

use crate::{
    api,
    language::{Language, use_language},
    session::Loading,
};

/// The state of the tools of this page. Its signals belong to the component that created it.
#[derive(Clone, Copy)]
pub(crate) struct Tools {
    /// The list that was loaded last; `None` until it is needed.
    pub(crate) list: RwSignal<Option<ToolList>>,
    pub(crate) loading: RwSignal<Loading>,
    /// Number of tools when the page was rendered.
    offered: usize,
    was_asked: StoredValue<bool>,
    choice: RwSignal<ToolChoice>,
    /// The reason why the last choice could not be stored, for the user.
    pub(crate) notice: RwSignal<Option<String>>,
    text: Language,
}

impl Tools {
    /// Creates the state for this number of tools, whose list is not loaded yet.
    pub(crate) fn new(offered: usize) -> Self {
        Self {
            list: RwSignal::new(None),
            loading: RwSignal::new(Loading::Idle),
            offered,
            was_asked: StoredValue::new(false),
            choice: RwSignal::default(),
            notice: RwSignal::new(None),
            text: use_language(),
        }
    }

    /// Loads the list of tools, and which of them are disabled in this conversation, or by default in a new chat.
    pub(crate) fn load(self, place: Option<Uuid>) {
        if self.loading.get_untracked() == Loading::Running {
            return;
        }
        self.loading.set(Loading::Running);
        self.notice.set(None);
        if !self.choice.with_untracked(|choice| choice.is_at(place)) {
            self.choice.set(ToolChoice::at(place));
        }
        spawn_local(async move {
            let off = match place {
                Some(uuid) => api::disabled_tools(uuid).await.map(|response| Some(response.disabled)),
                None => Ok(None),
            };
            let loaded = match (api::list_tools().await, off) {
                (Ok(list), Ok(off)) => {
                    // For a new chat, the list says which tools are disabled by default. A choice that was already
                    // made there stays.
                    let off = off.or_else(|| self.is_unknown().then(|| names_of(&list, |tool| !tool.enabled)));
                    if let Some(off) = off {
                        self.learn(place, off);
                    }
                    self.list.try_set(Some(list));
                    Loading::Idle
                }
                (Err(error), _) | (_, Err(error)) => Loading::Failed(error.message(self.text)),
            };
            self.loading.try_set(loaded);
        });
    }

    /// Loads only the list of tools, and only once.
    pub(crate) fn load_once(self) {
        let was_asked = self.was_asked.try_update_value(|asked| std::mem::replace(asked, true));
        if was_asked == Some(false) && self.list.with_untracked(Option::is_none) {
            // Without the list, a tool's name says which server it is from.
            spawn_local(self.reload());
        }
    }

    /// Loads the list of tools again. If that fails, the page keeps the list that it has.
    pub(crate) async fn reload(self) {
        if let Ok(list) = api::list_tools().await {
            self.list.try_set(Some(list));
        }
    }

    fn is_unknown(self) -> bool {
        self.choice.try_with_untracked(|choice| choice.off().is_none()) == Some(true)
    }

    /// Stores which tools are disabled in a conversation.
    fn learn(self, place: Option<Uuid>, off: Vec<String>) {
        if self.choice.try_with_untracked(|choice| choice.is_at(place)) == Some(true) {
            self.choice.update(|choice| choice.learn(off.into_iter().collect()));
        }
    }

    /// Returns `true` if it is known which tools are disabled in this place, so that the user can change that.
    pub(crate) fn is_known(self, place: Option<Uuid>) -> bool {
        self.choice.with(|choice| choice.is_at(place) && choice.off().is_some())
    }

    /// Returns `true` if a tool is enabled in this place, or if that is not known yet.
    pub(crate) fn is_on(self, place: Option<Uuid>, name: &str) -> bool {
        self.choice.with(|choice| !choice.is_at(place) || choice.off().is_none_or(|off| !off.contains(name)))
    }

    /// Returns the number of enabled tools, and the number of all tools.
    pub(crate) fn count(self, place: Option<Uuid>) -> (usize, usize) {
        self.list.with(|list| match list {
            None => (self.offered, self.offered),
            Some(list) => {
                let on = list.items.iter().filter(|tool| self.is_on(place, &tool.name)).count();
                (on, list.items.len())
            }
        })
    }

    /// Enables or disables tools in this place. If the server refuses the change, it is undone.
    pub(crate) fn switch(self, place: Option<Uuid>, names: &[String], on: bool) {
        self.notice.set(None);
        let is_here = self.choice.with_untracked(|choice| choice.is_at(place));
        if let Some(Some(next)) = is_here.then(|| self.choice.try_update(|choice| choice.switch(names, on)).flatten()) {
            self.send(next);
        }
    }

    fn send(self, (uuid, off): (Uuid, Names)) {
        spawn_local(async move {
            let body = DisabledTools { disabled: off.into_iter().collect() };
            let taken = match api::disable_tools(uuid, &body).await {
                Ok(taken) => Some(taken.disabled.into_iter().collect()),
                Err(error) => {
                    self.notice.try_set(Some(error.message(self.text)));
                    None
                }
            };
            if let Some(Some(next)) = self.choice.try_update(|choice| choice.on_response(uuid, taken)) {
                self.send(next);
            }
        });
    }

    /// Returns the tools that are disabled in a new chat that is about to become a conversation.
    pub(crate) fn chosen_for_new_chat(self) -> Vec<String> {
        self.choice.with_untracked(|choice| {
            let off = choice.off().filter(|_| choice.is_at(None));
            off.map(|off| off.iter().cloned().collect()).unwrap_or_default()
        })
    }

    /// Takes note that the new chat became this conversation, with these tools disabled.
    pub(crate) fn became(self, uuid: Uuid, off: Vec<String>) {
        let mut choice = ToolChoice::at(Some(uuid));
        choice.learn(off.into_iter().collect());
        self.choice.try_set(choice);
    }

    /// Returns the server of a tool; `None` for a built-in tool. As long as the list is not loaded, the tool's name
    /// decides.
    pub(crate) fn server_of(self, tool: &str) -> Option<String> {
        self.list.with(|list| match list.as_ref().and_then(|list| list.items.iter().find(|item| item.name == tool)) {
            Some(known) => known.server.clone(),
            None => tool.split_once("__").map(|(server, _)| server.to_owned()),
        })
    }

    /// Accepts the new version of a tool that its server changed.
    pub(crate) fn accept(self, place: Option<Uuid>, server: String, tool: String, hash: String) {
        spawn_local(async move {
            match api::accept_tool(&server, &tool, hash).await {
                Ok(()) => self.load(place),
                Err(error) => {
                    self.notice.try_set(Some(error.message(self.text)));
                }
            }
        });
    }
}

fn names_of(list: &ToolList, is_wanted: impl Fn(&ToolInfo) -> bool) -> Vec<String> {
    list.items.iter().filter(|tool| is_wanted(tool)).map(|tool| tool.name.clone()).collect()
}
