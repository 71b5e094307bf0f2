//! Splits texts into pieces of one to three characters, and hashes the pieces to slots. Pure. The index depends on the
//! result, so a change of it needs a migration that empties `search_blocks` and `conversations.search_indexed_at`.

/// Number of slots.
pub(crate) const SLOTS: usize = 4096;

/// Maximum length of a term, in characters.
pub(super) const MAX_TERM_CHARS: usize = 32;

/// Maximum number of slots that a search reads for one term, and in total. These are enough to exclude most messages.
const MAX_TERM_SLOTS: usize = 12;
const MAX_SEARCH_SLOTS: usize = 96;

/// Returns the characters of a text in the form that is compared. Characters that differ only in case on any of the
/// database engines are the same.
pub(super) fn fold(text: &str) -> Vec<char> {
    text.chars().map(fold_char).collect()
}

fn fold_char(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    // `ſ` and `s` share an upper case, and so do `ς` and `σ`.
    lower(upper(lower(character)))
}

/// Returns the lower case of a character. Only `İ` has one of two characters, and MySQL uses the first of them.
fn lower(character: char) -> char {
    character.to_lowercase().next().unwrap_or(character)
}

/// Returns the upper case of a character if that is a single character.
fn upper(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => character,
    }
}

/// Returns `true` for characters of scripts in which one or two characters are a word: Chinese, Japanese and Korean.
fn is_dense(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ffdc}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns the slots of the pieces that begin at `at`: of a character or two in a dense script, and of three other
/// characters. No piece contains white space. So the pieces of a word are among those of each text that contains it.
pub(super) fn slots_at(text: &[char], at: usize) -> impl Iterator<Item = usize> + use<> {
    let character = |index: usize| text.get(at + index).copied().filter(|character| !character.is_whitespace());
    let mut pieces = [None; 2];
    if let Some(first) = character(0) {
        if is_dense(first) {
            pieces[0] = Some(slots(&[first]));
        }
        match character(1) {
            Some(second) if is_dense(first) || is_dense(second) => pieces[1] = Some(slots(&[first, second])),
            Some(second) => {
                pieces[1] = character(2).filter(|third| !is_dense(*third)).map(|third| slots(&[first, second, third]));
            }
            None => {}
        }
    }
    pieces.into_iter().flatten().flatten()
}

/// Returns the two slots of a piece. A rare piece often shares one of them with a frequent piece, but seldom both.
fn slots(piece: &[char]) -> [usize; 2] {
    let mut hash = 0x811c_9dc5_u32;
    for character in piece {
        hash = (hash ^ u32::from(*character)).wrapping_mul(0x0100_0193);
        hash ^= hash >> 15;
    }
    hash = hash.wrapping_mul(0x2c1b_3c6d);
    [(hash >> 20) as usize % SLOTS, (hash >> 8) as usize % SLOTS]
}

/// Returns the slots of each term of a search; a message that contains all `words` has all slots of a term in one of
/// its columns. A term is a part of a word without white space. Returns nothing if no word is long enough for a piece.
pub(super) fn terms(words: &[String]) -> Vec<Vec<usize>> {
    let mut left = MAX_SEARCH_SLOTS;
    let mut terms = Vec::new();
    for word in words {
        let folded = fold(word);
        // The search also compares the lower case of a word. It can have more characters, as that of `İ` has.
        let lower: String = word.chars().flat_map(char::to_lowercase).collect();
        if fold(&lower) != folded {
            continue;
        }
        for part in folded.split(|character| character.is_whitespace()).flat_map(|part| part.chunks(MAX_TERM_CHARS)) {
            let mut slots: Vec<usize> = (0..part.len()).flat_map(|at| slots_at(part, at)).collect();
            slots.sort_unstable();
            slots.dedup();
            let slots: Vec<usize> = slots.into_iter().take(MAX_TERM_SLOTS.min(left)).collect();
            left -= slots.len();
            if !slots.is_empty() {
                terms.push(slots);
            }
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use super::{MAX_SEARCH_SLOTS, fold, slots, slots_at, terms};

    fn all_slots(text: &str) -> Vec<usize> {
        let text = fold(text);
        (0..text.len()).flat_map(|at| slots_at(&text, at)).collect()
    }

    /// The slots are stored, so they must stay the same.
    #[test]
    fn slots_do_not_change() {
        let found = [slots(&['n', 'e', 'e']), slots(&['大']), slots(&['大', '阪'])];
        assert_eq!(found, [[3542, 2481], [2231, 3295], [1688, 3121]]);
        assert_eq!(all_slots("Needle"), all_slots("nEEDLE"));
    }

    #[test]
    fn a_word_has_only_pieces_of_the_texts_that_contain_it() {
        for (text, word) in [
            ("An Éclair, please", "éCLAIR"),
            ("istanbul İstanbul ISTANBUL", "stan"),
            ("ΑΘΗΝΑΣ", "αθηνας"),
            ("ver.2の大阪城へ", "2の大"),
            ("大阪城", "阪"),
            ("한국어를 배우다", "국어"),
            ("foo_bar(baz)", "_bar("),
            ("two  words", "two  words"),
        ] {
            let (text, terms) = (all_slots(text), terms(&[word.to_owned()]));
            assert!(!terms.is_empty(), "{word}");
            assert!(terms.iter().flatten().all(|slot| text.contains(slot)), "{word}");
        }
    }

    #[test]
    fn short_words_have_no_pieces() {
        for word in ["a", "ok", "!?", "é", "İstanbul"] {
            assert!(terms(&[word.to_owned()]).is_empty(), "{word}");
        }
        let long = "abcdefghijklmnopqrstuvwxyz0123456789".repeat(5);
        assert!(terms(&[long.clone(), long]).iter().map(Vec::len).sum::<usize>() <= MAX_SEARCH_SLOTS);
    }
}
