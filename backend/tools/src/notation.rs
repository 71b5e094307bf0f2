//! Ways of writing numbers and operators that mean the same: full-width forms from Japanese keyboards, and the signs
//! of typography. Only single characters; what a number looks like is in `decimal`.

/// `c` as ASCII where it is a full-width form (`５` → `5`), a typographic sign (`×` → `*`, `−` → `-`) or a wide
/// space; any other character as it is.
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

/// Returns the `names` that a slip of the pen turns into `text`, at most three, nearest first.
pub(super) fn nearest<'a>(text: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let text = text.to_lowercase();
    let length = text.chars().count();
    // A short text is near to too many others.
    let allowed = (length / 4).min(3);
    let mut near: Vec<(usize, &str)> = names
        .filter(|name| name.chars().count().abs_diff(length) <= allowed)
        .map(|name| (strsim::osa_distance(&text, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).take(3).collect()
}

/// The beginning of `text`, for quoting it in a message: at most 40 characters.
pub(super) fn shortened(text: &str) -> String {
    shortened_to(text, 40)
}

/// The first `limit` characters of `text`, with `…` where something was left out.
pub(super) fn shortened_to(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
