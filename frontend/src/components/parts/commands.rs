//! Keyboard commands: each part of the page handles its own. Also checks that every field needs for key presses.

use leptos::{
    ev::{self, KeyboardEvent},
    prelude::*,
};
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::{
    browser,
    keys::{Command, Press, Target, shortcut_key},
    reactive::effect,
};

/// `keyCode` of a key press that an input method handles. Safari ends a composition before it reports the Enter that
/// ended it, and only this value shows it.
pub(crate) const HANDLED_BY_INPUT_METHOD: u32 = 229;

/// Returns `true` if an input method handles this key press, so that the page must ignore it.
pub(crate) fn is_composing(event: &KeyboardEvent) -> bool {
    event.is_composing() || event.key_code() == HANDLED_BY_INPUT_METHOD
}

/// Returns `true` if a key that gives commands to the browser or the system is held: Ctrl, ⌘ or Alt.
pub(crate) fn has_modifier(event: &KeyboardEvent) -> bool {
    event.ctrl_key() || event.meta_key() || event.alt_key()
}

/// Returns `true` for an Escape that closes something, and does not only end a composition.
pub(crate) fn escapes(event: &KeyboardEvent) -> bool {
    event.key() == "Escape" && !is_composing(event)
}

/// Calls `act` with each command until the component is unmounted. `act` returns `true` if it handled the command.
pub(crate) fn on_command(act: impl Fn(Command) -> bool + 'static) {
    // Effects run only in a browser.
    let act = StoredValue::new_local(act);
    effect(move || {
        let listener = window_event_listener(ev::keydown, move |event| {
            if let Some(command) = command_of(&event)
                && act.try_with_value(|act| act(command)) == Some(true)
            {
                event.prevent_default();
            }
        });
        on_cleanup(move || listener.remove());
    });
}

fn command_of(event: &KeyboardEvent) -> Option<Command> {
    // Ignores keys that an element or an input method has already handled.
    if event.default_prevented() || is_composing(event) {
        return None;
    }
    let press = Press {
        key: &shortcut_key(&event.key(), &event.code()),
        repeats: event.repeat(),
        control: event.ctrl_key() || event.meta_key(),
        shift: event.shift_key(),
        alt: event.alt_key(),
        target: target_of(event),
        single_keys: browser::has_single_keys(),
    };
    press.command()
}

fn target_of(event: &KeyboardEvent) -> Target {
    if matches!(document().query_selector("dialog[open], :popover-open"), Ok(Some(_))) {
        return Target::Dialog;
    }
    let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else {
        return Target::Page;
    };
    match element.tag_name().to_ascii_lowercase().as_str() {
        "textarea" | "input" => Target::Field,
        "select" => Target::Choice,
        _ => Target::Page,
    }
}
