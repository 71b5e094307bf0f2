//! The focus of the message field, and the keys that send its text or edit the last message.

use leptos::{
    ev::KeyboardEvent,
    prelude::*,
    task::{spawn_local, tick},
};

use crate::{
    browser,
    components::parts::{
        commands::{has_modifier, is_composing},
        ids::COMPOSER_ID,
    },
    mount_schedule::in_next_frame,
};

/// Returns `true` if a key press sends: Enter without Shift, unless it ends an input method's composition.
pub(crate) fn sends(event: &KeyboardEvent) -> bool {
    event.key() == "Enter" && enter_sends() && !event.shift_key() && !is_composing(event)
}

/// Returns `true` if a key press edits the last message when the message field is empty: the up arrow alone, unless an
/// input method handles it.
pub(crate) fn edits_last(event: &KeyboardEvent) -> bool {
    event.key() == "ArrowUp" && !event.shift_key() && !has_modifier(event) && !is_composing(event)
}

/// On-screen keyboards have no Shift+Enter, so there Enter inserts a line break. The server does not know the device.
pub(crate) fn enter_sends() -> bool {
    !browser::IS_HERE || !is_touched()
}

/// Focuses the message field in the next frame, unless another element has the focus then. Not on a touch screen, where
/// it would open the keyboard.
pub(crate) fn focus_composer() {
    in_next_frame(|| {
        if !is_touched() {
            browser::focus_if_free(COMPOSER_ID);
        }
    });
}

/// Focuses the message field after a button that is about to be removed. Not on a touch screen, where it would open the
/// keyboard.
pub(crate) fn leave_button() {
    if !is_touched() {
        browser::focus(COMPOSER_ID);
    }
}

/// Focuses the message field of the opened chat.
pub(crate) fn begin_to_write() {
    focus_new_field(COMPOSER_ID);
}

/// Focuses a field that was just opened, now or, if it does not exist yet, in the next frame. So no key press is lost.
pub(crate) fn focus_new_field(id: &'static str) {
    spawn_local(async move {
        tick().await;
        // A second attempt after a successful one could take the focus from what the user has pressed since.
        if !browser::focus(id) {
            in_next_frame(move || {
                browser::focus(id);
            });
        }
    });
}

/// Does the same after a click, but not after a touch, where it would open the keyboard.
pub(crate) fn begin_to_write_after_press() {
    if !is_touched() {
        begin_to_write();
    }
}

/// Returns `true` if the main pointer is a finger. Devices without a pointer have keys.
pub(crate) fn is_touched() -> bool {
    window().match_media("(pointer: coarse)").ok().flatten().is_some_and(|query| query.matches())
}
