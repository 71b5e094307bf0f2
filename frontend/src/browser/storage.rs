//! The browser's local storage of this site. All of its tabs share it, and it outlives them.

use leptos::prelude::{Owner, on_cleanup, window_event_listener_untyped};
use wasm_bindgen::JsCast;
use web_sys::{Storage, StorageEvent};

use super::{IS_HERE, window};

/// Returns the value of an item.
pub(crate) fn stored(key: &str) -> Option<String> {
    storage()?.get_item(key).ok()?
}

/// Stores an item. Returns `false` if the storage is full, and `true` if the browser has no storage.
pub(crate) fn store(key: &str, value: &str) -> bool {
    storage().is_none_or(|storage| storage.set_item(key, value).is_ok())
}

/// Removes an item.
pub(crate) fn forget_stored(key: &str) {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(key);
    }
}

/// Returns the items whose keys begin with `prefix`.
pub(crate) fn stored_items(prefix: &str) -> Vec<(String, String)> {
    let Some(storage) = storage() else { return Vec::new() };
    let keys = (0..storage.length().unwrap_or(0)).filter_map(|at| storage.key(at).ok()?);
    let keys: Vec<_> = keys.filter(|key| key.starts_with(prefix)).collect();
    keys.into_iter()
        .filter_map(|key| Some((storage.get_item(&key).ok()??, key)))
        .map(|(value, key)| (key, value))
        .collect()
}

/// Calls `hear` with the key and the new value of each item that another tab changes, until the current owner is
/// disposed of.
pub(crate) fn when_stored_elsewhere(hear: impl Fn(&str, Option<&str>) + 'static) {
    debug_assert!(Owner::current().is_some(), "the listener would never be removed");
    let heard = window_event_listener_untyped("storage", move |event| {
        if let Some(event) = event.dyn_ref::<StorageEvent>()
            && let Some(key) = event.key()
        {
            hear(&key, event.new_value().as_deref());
        }
    });
    on_cleanup(move || heard.remove());
}

fn storage() -> Option<Storage> {
    if !IS_HERE {
        return None;
    }
    window().ok()?.local_storage().ok()?
}
