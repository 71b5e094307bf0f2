//! System notifications. They are off unless the user enables them, and the browser may block them.

use std::time::Duration;

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{FeedEvent, FeedKind};
use uuid::Uuid;
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Notification, NotificationOptions, NotificationPermission};

use crate::{
    browser,
    conversation_list::ConversationList,
    feed::{Feed, News},
    language::use_language,
};

/// Permission to show notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Granted,
    Refused,
    /// The browser has no notifications on this page, for example because it was loaded over plain HTTP.
    Missing,
}

/// Asks the user for permission. Browsers allow this only right after the user clicks or presses a key.
pub(crate) async fn ask() -> Permission {
    if !js_sys::Reflect::has(&js_sys::global(), &"Notification".into()).unwrap_or(false) {
        return Permission::Missing;
    }
    if let Ok(asked) = Notification::request_permission() {
        // The result is read below.
        let _ = JsFuture::from(asked).await;
    }
    if Notification::permission() == NotificationPermission::Granted {
        Permission::Granted
    } else {
        Permission::Refused
    }
}

/// Time after the end of a turn within which the list knows whether the turn waits for approval.
const STATE_ARRIVES: Duration = Duration::from_secs(2);

/// Notifies the user of answers that ended, or that wait for approval, in conversations that the user left in this tab
/// while they were being written. `current` is the open conversation, whose notifications its pane shows.
pub(crate) fn follow_left_answers(feed: Feed, list: ConversationList, current: Signal<Option<Uuid>>) {
    let text = use_language();
    let left = StoredValue::new(Vec::<Uuid>::new());
    Effect::new(move |before: Option<Option<Uuid>>| {
        let now = current.get();
        if let Some(before) = before.flatten().filter(|before| Some(*before) != now)
            && untrack(|| list.find(before)).is_some_and(|summary| !summary.is_idle())
        {
            left.update_value(|left| {
                left.retain(|uuid| *uuid != before);
                left.push(before);
            });
        }
        now
    });
    feed.subscribe(move |news| {
        let News::Event(FeedEvent { kind: FeedKind::TurnEnded, conversation_id, .. }) = news else { return };
        if left.try_with_value(|left| left.contains(&conversation_id)) != Some(true) {
            return;
        }
        spawn_local(async move {
            browser::sleep(STATE_ARRIVES).await;
            let is_open = current.try_get_untracked() == Some(Some(conversation_id));
            let summary = untrack(|| list.find(conversation_id));
            let waits = summary.as_ref().is_some_and(|summary| summary.awaiting_approval);
            if !waits {
                left.try_update_value(|left| left.retain(|uuid| *uuid != conversation_id));
            }
            if browser::is_hidden() && !is_open {
                let title = if waits { text.approval_needed() } else { text.answer_ended() };
                show(title, &summary.map(|summary| summary.title).unwrap_or_default());
            }
        });
    });
}

/// Shows a notification if the user has enabled them. Clicking it switches to this tab.
pub(crate) fn show(title: &str, body: &str) {
    if browser::wants_notifications() {
        // A failure is ignored, because the tab shows the same information.
        let _ = try_show(title, body);
    }
}

fn try_show(title: &str, body: &str) -> Result<(), JsValue> {
    if !js_sys::Reflect::has(&js_sys::global(), &"Notification".into())? {
        return Ok(());
    }
    let options = NotificationOptions::new();
    options.set_body(body);
    let notification = Notification::new_with_options(title, &options)?;
    let closed = notification.clone();
    let to_tab = Closure::once_into_js(move || {
        if let Some(window) = web_sys::window() {
            let _ = window.focus();
        }
        closed.close();
    });
    notification.set_onclick(Some(to_tab.unchecked_ref()));
    Ok(())
}
