//! The event that the session has ended. Any request may report it, and the page handles it in one place.

use leptos::prelude::{WindowListenerHandle, window_event_listener_untyped};
use web_sys::Event;

use super::window;

const EVENT: &str = "tallybook-signed-out";

/// Dispatches the event: a request was refused because the user is no longer signed in.
pub(crate) fn tell_signed_out() {
    if let (Ok(window), Ok(event)) = (window(), Event::new(EVENT)) {
        let _ = window.dispatch_event(&event);
    }
}

/// Calls `hear` whenever a request reports the end of the session.
pub(crate) fn when_signed_out(hear: impl Fn() + 'static) -> WindowListenerHandle {
    window_event_listener_untyped(EVENT, move |_| hear())
}
