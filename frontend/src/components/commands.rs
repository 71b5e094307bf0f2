//! Hears the keys: each part of the page takes the commands that are its own. Also what every field asks of a key press.

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

/// `keyCode` of a key press that an input method takes for itself. Safari ends a composition before it reports the Enter
/// that ended it, and leaves only this.
pub(crate) const HANDLED_BY_INPUT_METHOD: u32 = 229;

/// Returns `true` if an input method handles this key press, so that the page must ignore it.
pub(crate) fn is_composing(event: &KeyboardEvent) -> bool {
    event.is_composing() || event.key_code() == HANDLED_BY_INPUT_METHOD
}

/// Returns `true` if this key press is an Escape that leaves something, and not one that only ends a composition.
pub(crate) fn escapes(event: &KeyboardEvent) -> bool {
    event.key() == "Escape" && !is_composing(event)
}

/// Calls `act` with each command until the component goes away; true means that it was taken.
pub(crate) fn on_command(act: impl Fn(Command) -> bool + 'static) {
    // Effects run in a browser alone.
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
    // What somebody took already, or an input method is at work on, asks for nothing more.
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
