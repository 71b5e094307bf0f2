//! Continues in a new chat: has the server copy the conversation up to an answer, and opens the copy.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::MessageId;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::HtmlAnchorElement;

use crate::{
    address::Address,
    api,
    components::parts::typing::begin_to_write_after_press,
    session::{Place, Session},
};

/// Copies the open conversation up to an answer, and opens the copy. A second press does nothing while `is_forking`.
pub(crate) fn fork(session: Session, id: MessageId, is_forking: StoredValue<bool>) {
    let Place::Open(uuid) = session.place.get_untracked() else { return };
    if is_forking.get_value() {
        return;
    }
    is_forking.set_value(true);
    spawn_local(async move {
        let forked = api::fork(uuid, id).await;
        // The user may have gone to another conversation by now, and stays there.
        if is_forking.try_set_value(false).is_some() {
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
