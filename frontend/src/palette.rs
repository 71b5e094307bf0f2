//! The command palette: the available commands, and the search for what the user types. Pure; the components render
//! the palette and run its commands.

use std::ops::Range;

use tallybook_protocol::UserRole;
use uuid::Uuid;

use crate::{language::Language, preferences::Theme};

/// Maximum number of entries that are shown.
const MAX_HITS: usize = 50;
/// Rank of a label in which only the letters match, in their order.
const LETTERS: u8 = 4;
/// Number of conversations above the commands while nothing is typed.
const RECENT: usize = 6;

/// A command of the palette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaletteCommand {
    Stop,
    CopyAnswer,
    NewChat,
    Rename(Uuid),
    Pin(Uuid, bool),
    Archive(Uuid, bool),
    Export(Uuid, &'static str),
    Delete(Uuid),
    Search,
    Select,
    OpenArchive,
    ToggleSidebar,
    Tools,
    Settings,
    ConnectModel,
    AddToolServer,
    Theme(Theme),
    Language(Language),
    Help,
}

/// The action of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaletteAction {
    Conversation(Uuid),
    PaletteCommand(PaletteCommand),
}

/// An entry that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PaletteEntry {
    pub(crate) action: PaletteAction,
    pub(crate) label: String,
}

/// A matching entry, and the matching bytes of its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) choice: PaletteEntry,
    pub(crate) marks: Vec<Range<usize>>,
}

/// The open conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenConversation {
    pub(crate) uuid: Uuid,
    pub(crate) pinned: bool,
    pub(crate) archived: bool,
}

/// The part of the page that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ShownView {
    #[default]
    Chat,
    Settings,
}

/// State of the page that decides which commands are available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Situation {
    pub(crate) open: Option<OpenConversation>,
    /// `true` while an answer is being written.
    pub(crate) is_busy: bool,
    /// `true` if there is an answer to copy.
    pub(crate) has_answer: bool,
    /// `true` if there are conversations to select.
    pub(crate) has_conversations: bool,
    pub(crate) shown: ShownView,
    pub(crate) theme: Theme,
    pub(crate) language: Language,
    /// The user's role. Only admins can connect models and add tool servers.
    pub(crate) role: UserRole,
}

/// Returns the available commands.
pub(crate) fn commands(situation: &Situation) -> Vec<PaletteCommand> {
    let &Situation { open, is_busy, has_answer, has_conversations, shown, theme, language, role } = situation;
    let mut commands = Vec::new();
    commands.extend(is_busy.then_some(PaletteCommand::Stop));
    commands.extend((has_answer && !is_busy).then_some(PaletteCommand::CopyAnswer));
    commands.push(PaletteCommand::NewChat);
    if let Some(OpenConversation { uuid, pinned, archived }) = open {
        commands.push(PaletteCommand::Rename(uuid));
        commands.extend((!archived).then_some(PaletteCommand::Pin(uuid, !pinned)));
        commands.push(PaletteCommand::Archive(uuid, !archived));
        commands.extend(["markdown", "json", "zip"].map(|format| PaletteCommand::Export(uuid, format)));
        commands.push(PaletteCommand::Delete(uuid));
    }
    commands.push(PaletteCommand::Search);
    commands.extend(has_conversations.then_some(PaletteCommand::Select));
    commands.extend((shown == ShownView::Chat).then_some(PaletteCommand::Tools));
    if role == UserRole::Admin {
        commands.extend([PaletteCommand::ConnectModel, PaletteCommand::AddToolServer]);
    }
    commands.extend([PaletteCommand::OpenArchive, PaletteCommand::ToggleSidebar]);
    commands.extend(Theme::ALL.into_iter().filter(|other| *other != theme).map(PaletteCommand::Theme));
    commands.extend(Language::ALL.into_iter().filter(|other| *other != language).map(PaletteCommand::Language));
    commands.extend((shown == ShownView::Chat).then_some(PaletteCommand::Settings));
    commands.push(PaletteCommand::Help);
    commands
}

/// Finds the entries that match `query`, best first. With equal ranks, conversations come before commands, and each
/// keeps its order.
pub(crate) fn hits(query: &str, conversations: Vec<PaletteEntry>, commands: Vec<PaletteEntry>) -> Vec<Hit> {
    let query = query.trim();
    if query.is_empty() {
        let choices = conversations.into_iter().take(RECENT).chain(commands);
        return choices.map(|choice| Hit { choice, marks: Vec::new() }).take(MAX_HITS).collect();
    }
    let choices = conversations.into_iter().chain(commands);
    let mut found: Vec<(u8, Hit)> = choices
        .filter_map(|choice| find(query, &choice.label).map(|(rank, marks)| (rank, Hit { choice, marks })))
        .collect();
    found.sort_by_key(|(rank, _)| *rank);
    // Nearly every label contains the letters, so such matches count only if none is better.
    if found.first().is_some_and(|(rank, _)| *rank < LETTERS) {
        found.retain(|(rank, _)| *rank < LETTERS);
    }
    found.into_iter().map(|(_, hit)| hit).take(MAX_HITS).collect()
}

/// Returns the rank of a match, 0 being the best, and the matching bytes; `None` if `label` does not match. Ranks:
///
/// 0. the beginning of the label,
/// 1. the beginning of a word,
/// 2. the middle of a word,
/// 3. all words, in any order,
/// 4. all letters, in their order.
fn find(query: &str, label: &str) -> Option<(u8, Vec<Range<usize>>)> {
    let letters: Vec<(usize, char)> = label.char_indices().map(|(at, c)| (at, folded(c))).collect();
    let bytes = |from: usize, to: usize| {
        let end = letters.get(to).map_or(label.len(), |(at, _)| *at);
        letters[from].0..end
    };
    let place = |wanted: &[char]| {
        letters.windows(wanted.len().max(1)).position(|window| window.iter().map(|(_, c)| c).eq(wanted))
    };
    let words: Vec<Vec<char>> = query.split_whitespace().map(|word| word.chars().map(folded).collect()).collect();
    let whole: Vec<char> = query.chars().map(folded).collect();
    if let Some(at) = place(&whole) {
        let begins_word = at == 0 || !letters[at - 1].1.is_alphanumeric();
        let rank = if at == 0 {
            0
        } else if begins_word {
            1
        } else {
            2
        };
        return Some((rank, vec![bytes(at, at + whole.len())]));
    }
    let places: Option<Vec<_>> = words.iter().map(|word| Some((place(word)?, word.len()))).collect();
    if let Some(mut places) = places {
        places.sort_unstable();
        return Some((3, merged(places.into_iter().map(|(at, length)| bytes(at, at + length)))));
    }
    let wanted: Vec<char> = words.concat();
    let mut at = 0;
    let mut marks = Vec::new();
    for c in wanted {
        let next = at + letters[at..].iter().position(|(_, letter)| *letter == c)?;
        marks.push(bytes(next, next + 1));
        at = next + 1;
    }
    Some((LETTERS, merged(marks.into_iter())))
}

/// Folds the case of a letter. The result is always one letter, so that the positions of matches stay the same.
fn folded(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Joins ranges that touch or overlap. The ranges must be in order.
fn merged(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::UserRole;
    use uuid::Uuid;

    use super::{Hit, OpenConversation, PaletteAction, PaletteCommand, PaletteEntry, Situation, commands, hits};

    fn conversation(number: u128, label: &str) -> PaletteEntry {
        PaletteEntry { action: PaletteAction::Conversation(Uuid::from_u128(number)), label: label.to_owned() }
    }

    fn order(label: &str) -> PaletteEntry {
        PaletteEntry { action: PaletteAction::PaletteCommand(PaletteCommand::Help), label: label.to_owned() }
    }

    /// Returns the matching labels, with the matching parts in brackets.
    fn matched(query: &str, conversations: &[&str], commands: &[&str]) -> Vec<String> {
        let conversations = (0..).zip(conversations).map(|(number, label)| conversation(number, label)).collect();
        let commands = commands.iter().map(|label| order(label)).collect();
        let marked = |Hit { choice, marks }: Hit| {
            let mut label = choice.label;
            for range in marks.into_iter().rev() {
                label.insert(range.end, ']');
                label.insert(range.start, '[');
            }
            label
        };
        hits(query, conversations, commands).into_iter().map(marked).collect()
    }

    #[test]
    fn the_best_match_comes_first_and_is_marked() {
        let conversations = ["My taxes", "Syntax", "Tax return", "Table of axes", "Pears"];
        assert_eq!(matched("tax", &conversations, &[]), ["[Tax] return", "My [tax]es", "Syn[tax]"]);
        assert_eq!(
            matched("tbax", &conversations, &[]),
            ["[T]a[b]le of [ax]es"],
            "letters match if nothing better does"
        );
        assert_eq!(matched("return tax", &conversations, &[]), ["[Tax] [return]"]);
        assert_eq!(matched("TAX RET", &conversations, &[]), ["[Tax ret]urn"]);
        assert_eq!(matched("cherries", &conversations, &["New chat"]), Vec::<String>::new());
    }

    #[test]
    fn conversations_come_before_commands_of_equal_rank() {
        assert_eq!(matched("new", &["A new one", "News"], &["New chat"]), ["[New]s", "[New] chat", "A [new] one"]);
    }

    #[test]
    fn an_empty_query_shows_the_newest_conversations_first() {
        let conversations = ["1", "2", "3", "4", "5", "6", "7", "8"];
        assert_eq!(matched(" ", &conversations, &["New chat"]), ["1", "2", "3", "4", "5", "6", "New chat"]);
    }

    #[test]
    fn complete_letters_of_any_language_are_marked() {
        assert_eq!(matched("計算", &["消費税の計算", "İstanbul"], &[]), ["消費税の[計算]"]);
        assert_eq!(matched("ıİ", &["ıİ", "é"], &[]), ["[ıİ]"]);
        assert_eq!(matched("算税", &["消費税の計算"], &[]), Vec::<String>::new(), "letters match only in their order");
    }

    #[test]
    fn unavailable_commands_are_not_offered() {
        let empty = commands(&Situation::default());
        let has = |commands: &[PaletteCommand], wanted: fn(&PaletteCommand) -> bool| commands.iter().any(wanted);
        assert!(!has(&empty, |order| {
            use PaletteCommand::{Archive, CopyAnswer, Delete, Export, Pin, Rename, Select, Stop};
            matches!(order, Stop | CopyAnswer | Rename(_) | Pin(..) | Archive(..) | Export(..) | Delete(_) | Select)
        }));
        assert!(has(&empty, |order| *order == PaletteCommand::NewChat));
        for (role, is_offered) in [(UserRole::Admin, true), (UserRole::User, false)] {
            let offered = commands(&Situation { role, ..Situation::default() });
            assert_eq!(offered.contains(&PaletteCommand::AddToolServer), is_offered);
        }
        let uuid = Uuid::nil();
        let open = Some(OpenConversation { uuid, pinned: true, archived: false });
        let busy = commands(&Situation { open, is_busy: true, has_answer: true, ..Situation::default() });
        assert!(busy.contains(&PaletteCommand::Stop) && !busy.contains(&PaletteCommand::CopyAnswer));
        assert!(
            busy.contains(&PaletteCommand::Pin(uuid, false)) && busy.contains(&PaletteCommand::Archive(uuid, true))
        );
        let open = Some(OpenConversation { uuid, pinned: true, archived: true });
        let put_away = commands(&Situation { open, ..Situation::default() });
        assert!(
            put_away.contains(&PaletteCommand::Archive(uuid, false))
                && !has(&put_away, |order| matches!(order, PaletteCommand::Pin(..)))
        );
    }
}
