//! Tool calls whose texts came cut: the rest of them, when the reader wants it. What was loaded is kept with the call in the
//! transcript, so it is asked for once.

use leptos::prelude::*;
use tallybook_protocol::ToolCallId;

use super::{Loading, Session};
use crate::api;

impl Session {
    /// Loads the texts of a call whole. Does nothing when they are here or on their way.
    pub(crate) fn load_call(self, id: ToolCallId) {
        let is_cut = self.known.with_value(|known| known.find_call(id).is_some_and(|call| !call.is_whole()));
        if !is_cut || self.call_loading(id) == Loading::Running {
            return;
        }
        self.set_call_loading(id, Loading::Running);
        self.spawn(async move {
            match api::find_tool_call(id).await {
                Ok(call) => {
                    self.known.update_value(|known| known.put_call(call));
                    self.draw();
                    self.set_call_loading(id, Loading::Idle);
                }
                Err(error) if error.is_not_found() => {
                    self.set_call_loading(id, Loading::Failed(self.text.not_found_call().to_owned()));
                }
                Err(error) => self.set_call_loading(id, Loading::Failed(error.message(self.text))),
            }
        });
    }

    /// How it stands with the rest of a call.
    pub(crate) fn call_loading(self, id: ToolCallId) -> Loading {
        self.loading_calls.with(|loading| loading.get(&id).cloned().unwrap_or(Loading::Idle))
    }

    fn set_call_loading(self, id: ToolCallId, loading: Loading) {
        self.loading_calls.update(|calls| {
            calls.insert(id, loading);
        });
    }
}
