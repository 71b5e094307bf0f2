//! Texts that are being written, kept in this browser for each user until they are sent or given up: bounded in number, size and
//! age. Other tabs read and write the same texts; the last change wins. The document's script (`app`) keeps the message field in
//! the same form before the page is alive.

use crate::browser;

/// Begins the names of all items of the browser's storage that hold such texts.
pub(crate) const PREFIX: &str = "draft:";

/// The maximum number of texts that are kept. The oldest make room.
const MAX_ITEMS: usize = 200;
/// The maximum length of all of them in UTF-16 units: browsers have room for about 5,000,000.
const MAX_UNITS: usize = 2_000_000;
/// Texts that were not changed for so long are forgotten.
const MAX_AGE_MS: i64 = 90 * 24 * 60 * 60 * 1000;

/// An item of the storage, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) key: String,
    /// When it was written, in milliseconds since 1970; 0 if that is unknown.
    pub(crate) at: i64,
    /// Its length in UTF-16 units.
    pub(crate) units: usize,
}

/// Returns the key of a text in the browser's storage.
pub(crate) fn storage_key(user: i64, name: &str) -> String {
    format!("{PREFIX}{user}:{name}")
}

/// Returns the text that is kept under `name` for this user; empty if there is none.
pub(crate) fn kept(name: &str) -> String {
    browser::stored(&own_key(name)).map(|value| decode(&value).1.to_owned()).unwrap_or_default()
}

/// Keeps a text under `name`; an empty one is forgotten. A new text makes older ones go that exceed the limits.
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

/// Removes other texts, the oldest first, until this text fits. Returns `false` if that does not help.
fn make_room(key: &str, value: &str) -> bool {
    let mut others = others(key);
    others.sort_by_key(|item| item.at);
    others.into_iter().any(|item| {
        browser::forget_stored(&item.key);
        browser::store(key, value)
    })
}

/// Returns all texts but the one under `key`.
fn others(key: &str) -> Vec<Item> {
    let items = browser::stored_items(PREFIX).into_iter().filter(|(held, _)| held != key);
    items.map(|(key, value)| Item { at: decode(&value).0, units: units(&value), key }).collect()
}

/// Returns the name and the text that another tab has changed for this user, if `key` and `value` are such an item.
pub(crate) fn changed_elsewhere(key: &str, value: Option<&str>) -> Option<(String, String)> {
    let name = key.strip_prefix(&own_key(""))?;
    Some((name.to_owned(), value.map(|value| decode(value).1.to_owned()).unwrap_or_default()))
}

/// Forgets the texts of all users. To be called when a user signs out.
pub(crate) fn clear() {
    for (key, _) in browser::stored_items(PREFIX) {
        browser::forget_stored(&key);
    }
}

/// Returns the keys of the items that have to go when another text is added: those that are too old, and the oldest beyond the
/// limits.
fn outdated(mut items: Vec<Item>, now: i64) -> Vec<String> {
    items.sort_by_key(|item| std::cmp::Reverse(item.at));
    let (mut count, mut used) = (1, 0_usize);
    let mut is_out = |item: &Item| {
        count += 1;
        used = used.saturating_add(item.units);
        now - item.at > MAX_AGE_MS || count > MAX_ITEMS || used > MAX_UNITS
    };
    items.into_iter().filter(|item| is_out(item)).map(|item| item.key).collect()
}

fn units(value: &str) -> usize {
    value.encode_utf16().count()
}

/// Returns a text with its time, as it is stored: the milliseconds, a space, the text.
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
    use super::{Item, MAX_AGE_MS, MAX_ITEMS, MAX_UNITS, decode, encode, outdated, storage_key};

    fn item(at: i64, units: usize) -> Item {
        Item { key: at.to_string(), at, units }
    }

    #[test]
    fn texts_of_two_users_have_different_keys() {
        assert_eq!(storage_key(1, "draft"), "draft:1:draft");
        assert_ne!(storage_key(1, "draft"), storage_key(11, "draft"));
    }

    #[test]
    fn a_text_is_read_as_it_was_written() {
        for text in ["", "a", " a b\n", "12 3"] {
            assert_eq!(decode(&encode(5, text)), (5, text));
        }
        assert_eq!(decode("no-time"), (0, ""));
        assert_eq!(decode("late text"), (0, "text"));
    }

    #[test]
    fn old_texts_and_those_beyond_the_limits_go_the_oldest_first() {
        let now = 2 * MAX_AGE_MS;
        assert_eq!(outdated(vec![item(1, 5), item(now - 1, 5)], now), ["1"]);
        let many: Vec<_> = (0..i64::try_from(MAX_ITEMS).unwrap()).map(|at| item(now - at, 1)).collect();
        let oldest = many.last().unwrap().key.clone();
        assert_eq!(outdated(many, now), [oldest], "one place is for the text that is added");
        let large = |units| vec![item(now - 2, units), item(now - 1, MAX_UNITS / 2)];
        assert_eq!(outdated(large(MAX_UNITS / 2), now), Vec::<String>::new());
        assert_eq!(outdated(large(MAX_UNITS / 2 + 1), now), [(now - 2).to_string()]);
    }
}
