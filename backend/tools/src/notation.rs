//! Normalizes notations of numbers and operators: full-width characters from Japanese keyboards, and typographic signs.
//! Handles only single characters; numbers are parsed in `decimal`.

use tallybook_protocol::with_ellipsis;

/// Returns the ASCII form of a full-width character (`５` → `5`), a typographic sign (`×` → `*`, `−` → `-`), or a
/// no-break or wide space. Returns any other character unchanged.
pub fn plain(c: char) -> char {
    match c {
        // The block of full-width forms lies at a fixed distance from ASCII (Unicode chart UFF00).
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' | '\u{a0}' | '\u{202f}' => ' ',
        '\u{2212}' | '\u{2010}'..='\u{2014}' => '-',
        '×' | '⋅' | '∙' | '·' => '*',
        '÷' | '∕' => '/',
        _ => c,
    }
}

/// Returns at most three of the `names` that are similar to `text`, as after a typing error, nearest first.
pub(crate) fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let text = text.to_lowercase();
    let length = text.chars().count();
    // A short text is similar to too many others.
    let allowed = (length / 4).min(3);
    let mut near: Vec<(usize, &str)> = names
        .filter(|name| name.chars().count().abs_diff(length) <= allowed)
        .map(|name| (strsim::osa_distance(&text, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Truncates `text` to 40 characters, for quoting it in a message.
pub(crate) fn shortened(text: &str) -> String {
    with_ellipsis(text, 40)
}
