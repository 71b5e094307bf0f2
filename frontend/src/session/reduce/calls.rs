//! Tool calls whose texts came cut: the rest of them, when the reader wants it. What was loaded is kept with the call in the
//! transcript, so it is asked for once.

use tallybook_protocol::{ToolCall, ToolCallId};

use super::super::{effect::Effect, shown::Loading, state::State};
use crate::api::ApiError;

impl State {
    /// Loads the texts of a call whole. Does nothing when they are here or on their way.
    pub(super) fn load_call(&mut self, id: ToolCallId, out: &mut Vec<Effect>) {
        let is_cut = self.transcript.find_call(id).is_some_and(|call| !call.is_whole());
        if is_cut && self.calls.get(&id) != Some(&Loading::Running) {
            self.calls.insert(id, Loading::Running);
            out.push(Effect::LoadCall(id));
        }
    }

    /// A call stays what it is, so its texts are welcome whatever happened meanwhile.
    pub(super) fn call_found(&mut self, id: ToolCallId, call: Result<ToolCall, ApiError>, out: &mut Vec<Effect>) {
        let loading = match call {
            Ok(call) => {
                self.transcript.put_call(call);
                out.push(Effect::Draw);
                Loading::Idle
            }
            Err(error) if error.is_not_found() => Loading::Failed(self.text.not_found_call().to_owned()),
            Err(error) => Loading::Failed(error.message(self.text)),
        };
        self.calls.insert(id, loading);
    }
}
