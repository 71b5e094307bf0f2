//! Continues in a new chat: has the server copy the conversation up to an answer, and opens the copy.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{MessageId, NewFork};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::HtmlAnchorElement;

use crate::{
    address::Address,
    api, browser,
    components::parts::typing::begin_to_write_after_press,
    session::{Place, Session},
};

/// A copy of the conversation up to an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fork {
    /// `true` while the server creates it.
    is_running: bool,
    /// Its ID. It stays the same after a failure, because the server may have created the copy nevertheless.
    id: Option<String>,
}

/// Copies the open conversation up to an answer, and opens the copy. A second press does nothing while the first one
/// runs.
pub(crate) fn fork(session: Session, message_id: MessageId, state: StoredValue<Fork>) {
    let Place::Open(uuid) = session.place.get_untracked() else { return };
    let Fork { is_running: false, id } = state.get_value() else { return };
    let id = id.unwrap_or_else(browser::random_id);
    state.set_value(Fork { is_running: true, id: Some(id.clone()) });
    spawn_local(async move {
        let forked = api::fork(uuid, &NewFork { message_id, client_conversation_id: Some(id.clone()) }).await;
        let id = forked.is_err().then_some(id);
        // The user may have gone to another conversation by now, and stays there.
        if state.try_set_value(Fork { is_running: false, id }).is_some() {
            return;
        }
        match forked {
            Ok(fork) => {
                // If the link cannot be made, the conversation is in the list.
                let _ = follow(&Address::Conversation(fork.uuid).pathname());
                begin_to_write_after_press();
            }
            Err(error) => session.show_failure(error),
        }
    });
}

/// Opens an address of the page, as a link to it does.
fn follow(path: &str) -> Result<(), JsValue> {
    let link: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    link.set_href(path);
    // The page handles only clicks in the document.
    document().body().ok_or(JsValue::UNDEFINED)?.append_child(&link)?;
    link.click();
    link.remove();
    Ok(())
}
