//! Finds the unit of a name. Case matters only if it changes the meaning.

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use crate::{
    builtin::convert_units::table::{PREFIXES, REFUSED, UNITS, Unit, list},
    notation::{nearest, shortened},
};

/// A unit and prefix, found by name.
#[derive(Clone, Copy)]
pub(crate) struct Named {
    pub(crate) unit: &'static Unit,
    /// The factor of the name's prefix.
    pub(crate) prefix: &'static str,
    /// Meaning of the name, if the name is ambiguous.
    pub(crate) note: Option<&'static str>,
}

/// Reason why a name has no unit.
pub(crate) enum Unknown {
    /// The name has several meanings, or is a prefix alone.
    Refused(String),
    /// The table does not contain the name.
    NotFound,
}

enum Meaning {
    Unit(Named),
    /// The name has several meanings. Lists the names to write instead.
    Choices(&'static str),
    /// A symbol that is not in the table but differs only in case from one in the table, such as Mm from mm.
    LeftOut,
}

#[derive(Default)]
struct Index {
    by_name: BTreeMap<String, Meaning>,
    /// Names by their lower-case form.
    by_letters: HashMap<String, Vec<String>>,
}

static INDEX: LazyLock<Index> = LazyLock::new(Index::build);

impl Index {
    fn build() -> Self {
        let mut index = Self::default();
        for unit in UNITS.iter().copied().flatten() {
            let named = |prefix, note| Meaning::Unit(Named { unit, prefix, note });
            for name in list(unit.symbols).chain(list(unit.words)) {
                index.add(name.to_owned(), named("1", None));
            }
            for name in list(unit.assumed) {
                index.add(name.to_owned(), named("1", Some(unit.note)));
            }
            for prefix in PREFIXES.iter().filter(|prefix| unit.takes(prefix)) {
                for symbol in list(unit.symbols) {
                    index.add(format!("{}{symbol}", prefix.symbol), named(prefix.factor, None));
                    if prefix.symbol == "µ" {
                        // Case matters for these names: US is not a microsecond.
                        index.by_name.insert(format!("u{symbol}"), named(prefix.factor, None));
                    }
                }
                for word in list(unit.words) {
                    index.add(format!("{}{word}", prefix.word), named(prefix.factor, None));
                }
            }
        }
        for (names, choices) in REFUSED {
            for name in list(names) {
                index.add(name.to_owned(), Meaning::Choices(choices));
            }
        }
        for unit in UNITS.iter().copied().flatten() {
            for (taken, other) in [("m", "M"), ("M", "m"), ("p", "P"), ("P", "p")] {
                for symbol in list(unit.symbols).filter(|_| list(unit.prefixes).any(|prefix| prefix == taken)) {
                    let left_out = format!("{other}{symbol}");
                    if !index.by_name.contains_key(&left_out) {
                        index.add(left_out, Meaning::LeftOut);
                    }
                }
            }
        }
        index
    }

    fn add(&mut self, name: String, meaning: Meaning) {
        if self.by_name.insert(name.clone(), meaning).is_none() {
            self.by_letters.entry(name.to_lowercase()).or_default().push(name);
        }
    }
}

/// Returns the unit that `name` means.
pub(crate) fn find(name: &str) -> Result<Named, Unknown> {
    let quoted = shortened(name);
    match INDEX.by_name.get(name) {
        Some(Meaning::Unit(named)) => return Ok(*named),
        Some(Meaning::Choices(choices)) => {
            return Err(Unknown::Refused(format!("{quoted:?} is ambiguous: it may be {choices}; write which")));
        }
        Some(Meaning::LeftOut) | None => {}
    }
    if PREFIXES.iter().any(|prefix| prefix.symbol == name || prefix.word.eq_ignore_ascii_case(name)) {
        return Err(Unknown::Refused(format!("{quoted:?} is a prefix and not a unit; write it with one, such as km")));
    }
    let alike = INDEX.by_letters.get(&name.to_lowercase()).map(Vec::as_slice).unwrap_or_default();
    let meanings: Vec<_> = alike.iter().filter_map(|name| INDEX.by_name.get_key_value(name)).collect();
    match meanings.as_slice() {
        [] => {}
        // For a single letter, case always matters: k is a prefix and K is kelvin.
        [(_, Meaning::Unit(first)), rest @ ..]
            if name.chars().nth(1).is_some() && rest.iter().all(|(_, other)| means(other, first)) =>
        {
            return Ok(*first);
        }
        _ => {
            let choices: Vec<&str> = meanings.iter().filter_map(|(name, meaning)| choices(name, meaning)).collect();
            let choices = choices.join(" or ");
            return Err(Unknown::Refused(format!(
                "{quoted:?} is ambiguous: it may be {choices}, depending on capitals; write which"
            )));
        }
    }
    Err(Unknown::NotFound)
}

/// Returns the reason for refusing a name that is not found.
pub(crate) fn not_found(name: &str) -> String {
    let near = nearest(name, accepted_names());
    let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) };
    format!("{:?} is not a known unit{hint}", shortened(name))
}

fn means(meaning: &Meaning, unit: &Named) -> bool {
    matches!(meaning, Meaning::Unit(named) if std::ptr::eq(named.unit, unit.unit) && named.prefix == unit.prefix)
}

fn choices<'a>(name: &'a str, meaning: &Meaning) -> Option<&'a str> {
    match meaning {
        Meaning::Unit(_) => Some(name),
        Meaning::Choices(choices) => Some(choices),
        Meaning::LeftOut => None,
    }
}

/// Returns every name that is accepted in exactly this spelling.
pub(crate) fn accepted_names() -> impl Iterator<Item = &'static str> {
    INDEX.by_name.iter().filter(|(_, meaning)| matches!(meaning, Meaning::Unit(_))).map(|(name, _)| name.as_str())
}
