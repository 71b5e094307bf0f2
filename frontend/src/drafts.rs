//! Drafts: texts that the user is writing. This browser stores them for each user until they are sent or discarded.
//! Their number, size, and age are limited. All tabs read and write the same drafts; the last change wins. The
//! document's script (`app`) stores the text of the message field in the same format before the page is interactive.

use crate::browser;

/// Prefix of the keys of all drafts in the browser's storage.
pub(crate) const PREFIX: &str = "draft:";

/// Maximum number of drafts. The oldest are removed first.
const MAX_ITEMS: usize = 200;
/// Maximum length of all drafts, in UTF-16 units. Browsers can store about 5,000,000.
const MAX_UNITS: usize = 2_000_000;
/// Maximum time since the last change of a draft.
const MAX_AGE_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// A stored draft without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredDraft {
    pub(crate) key: String,
    /// Time of the last change, in milliseconds since 1970; 0 if unknown.
    pub(crate) at: i64,
    /// Length in UTF-16 units.
    pub(crate) units: usize,
}

/// Returns the key of a draft in the browser's storage.
pub(crate) fn storage_key(user: i64, name: &str) -> String {
    format!("{PREFIX}{user}:{name}")
}

/// Returns the draft with this name of this user; empty if it does not exist.
pub(crate) fn kept(name: &str) -> String {
    browser::stored(&own_key(name)).map(|value| decode(&value).1.to_owned()).unwrap_or_default()
}

/// Stores a draft; an empty one is removed. A new draft removes older ones that exceed the limits.
pub(crate) fn keep(name: &str, text: &str) {
    if !browser::IS_HERE {
        return;
    }
    let key = own_key(name);
    if text.is_empty() {
        return browser::forget_stored(&key);
    }
    let value = encode(browser::now(), text);
    if units(&value) > MAX_UNITS {
        return;
    }
    let is_new = browser::stored(&key).is_none();
    let is_stored = browser::store(&key, &value) || make_room(&key, &value);
    if is_new && is_stored {
        for key in outdated(others(&key), browser::now()) {
            browser::forget_stored(&key);
        }
    }
}

/// Removes other drafts, the oldest first, until this one fits. Returns `false` if it still does not fit.
fn make_room(key: &str, value: &str) -> bool {
    others(key).into_iter().rev().any(|item| {
        browser::forget_stored(&item.key);
        browser::store(key, value)
    })
}

/// Returns all drafts except the one with this key, newest first.
fn others(key: &str) -> Vec<StoredDraft> {
    let items = browser::stored_items(PREFIX).into_iter().filter(|(held, _)| held != key);
    let mut items: Vec<StoredDraft> =
        items.map(|(key, value)| StoredDraft { at: decode(&value).0, units: units(&value), key }).collect();
    items.sort_by_key(|item| std::cmp::Reverse(item.at));
    items
}

/// Returns the name and text of a changed item, if it is one of this user's drafts.
pub(crate) fn changed_elsewhere(key: &str, value: Option<&str>) -> Option<(String, String)> {
    let name = key.strip_prefix(&own_key(""))?;
    Some((name.to_owned(), value.map(|value| decode(value).1.to_owned()).unwrap_or_default()))
}

/// Removes the drafts of all users. Call it when a user signs out.
pub(crate) fn clear() {
    for (key, _) in browser::stored_items(PREFIX) {
        browser::forget_stored(&key);
    }
}

/// Removes those drafts of this user whose names match.
pub(crate) fn forget_where(is_over: impl Fn(&str) -> bool) {
    let prefix = own_key("");
    for (key, _) in browser::stored_items(&prefix) {
        if key.strip_prefix(&prefix).is_some_and(&is_over) {
            browser::forget_stored(&key);
        }
    }
}

/// Returns the keys of the drafts to remove when another one is added: those that are too old, and the oldest beyond
/// the limits. `items` are the other drafts, newest first.
fn outdated(items: Vec<StoredDraft>, now: i64) -> Vec<String> {
    let (mut count, mut used) = (1, 0_usize);
    let mut is_out = |item: &StoredDraft| {
        count += 1;
        used = used.saturating_add(item.units);
        now - item.at > MAX_AGE_MS || count > MAX_ITEMS || used > MAX_UNITS
    };
    items.into_iter().filter(|item| is_out(item)).map(|item| item.key).collect()
}

fn units(value: &str) -> usize {
    value.encode_utf16().count()
}

/// Returns a draft in its stored form: the milliseconds, a space, and the text.
fn encode(at: i64, text: &str) -> String {
    format!("{at} {text}")
}

fn decode(value: &str) -> (i64, &str) {
    let (at, text) = value.split_once(' ').unwrap_or_default();
    (at.parse().unwrap_or_default(), text)
}

fn own_key(name: &str) -> String {
    storage_key(browser::user_id(), name)
}

#[cfg(test)]
mod tests {
    use super::{MAX_AGE_MS, MAX_ITEMS, MAX_UNITS, StoredDraft, decode, encode, outdated, storage_key};

    fn item(at: i64, units: usize) -> StoredDraft {
        StoredDraft { key: at.to_string(), at, units }
    }

    #[test]
    fn drafts_of_two_users_have_different_keys() {
        assert_eq!(storage_key(1, "draft"), "draft:1:draft");
        assert_ne!(storage_key(1, "draft"), storage_key(11, "draft"));
    }

    #[test]
    fn a_stored_draft_is_read_back_unchanged() {
        for text in ["", "a", " a b\n", "12 3"] {
            assert_eq!(decode(&encode(5, text)), (5, text));
        }
        assert_eq!(decode("no-time"), (0, ""));
        assert_eq!(decode("late text"), (0, "text"));
    }

    #[test]
    fn old_drafts_and_the_oldest_beyond_the_limits_are_removed() {
        let now = 2 * MAX_AGE_MS;
        assert_eq!(outdated(vec![item(now - 1, 5), item(1, 5)], now), ["1"]);
        let many: Vec<_> = (0..i64::try_from(MAX_ITEMS).unwrap()).map(|at| item(now - at, 1)).collect();
        let oldest = many.last().unwrap().key.clone();
        assert_eq!(outdated(many, now), [oldest], "the added draft counts, too");
        let large = |units| vec![item(now - 1, MAX_UNITS / 2), item(now - 2, units)];
        assert_eq!(outdated(large(MAX_UNITS / 2), now), Vec::<String>::new());
        assert_eq!(outdated(large(MAX_UNITS / 2 + 1), now), [(now - 2).to_string()]);
    }
}
