//! Separates reasoning from the answer if a model writes both into its text and the server does not separate them
//! (DeepSeek, Qwen). Any split of the text gives the same result.
//!
//! Most models write their reasoning between two tags. Some chat templates write the opening tag into the prompt, so
//! the model writes only the closing tag. The first such answer of a model streams as text, which turns into reasoning
//! at the closing tag. The model's next answers stream as reasoning from the first word on. If one of those ends
//! without the tag, all of it was text.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// The tags between which models write their reasoning.
const TAGS: [(&str, &str); 10] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<Thought>", "</Thought>"),
    ("<reason>", "</reason>"),
    ("<reasoning>", "</reasoning>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("◁think▷", "◁/think▷"),
];

/// Maximum length of the white space before the opening tag, in bytes.
const MAX_BLANK_BYTES: usize = 64;

/// Maximum number of quoted closing tags in an answer. After more of them, all further tags are ordinary text.
const MAX_QUOTED_TAGS: usize = 16;

/// A model's habit of beginning its answers with reasoning that has no opening tag. All answers of the model share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnopenedReasoning(Arc<AtomicBool>);

impl UnopenedReasoning {
    /// Creates a habit that was already observed.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn new(begins_with_reasoning: bool) -> Self {
        Self(Arc::new(AtomicBool::new(begins_with_reasoning)))
    }

    fn begins_with_reasoning(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn learn(&self, begins_with_reasoning: bool) {
        self.0.store(begins_with_reasoning, Ordering::Relaxed);
    }
}

/// A piece of a model's output; never empty.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Reasoning(String),
    Text(String),
    /// All text so far was reasoning; this is its complete text.
    TextWasReasoning(String),
    /// All reasoning so far was text; this is the complete text.
    ReasoningWasText(String),
}

/// A separator of reasoning and text for an answer that streams in.
#[derive(Debug)]
pub(crate) struct ReasoningTags {
    state: State,
    habit: UnopenedReasoning,
    /// The tags around the reasoning, or the default ones.
    pair: (&'static str, &'static str),
    /// `true` if the server sends reasoning in a separate field. Then a lone closing tag is ordinary text.
    has_reasoning_field: bool,
}

#[derive(Debug)]
enum State {
    /// Before the first word: the possible beginning of a tag, with the white space before it.
    Before(String),
    /// In reasoning, until `closing`. `held` is the possible beginning of that tag. `blank` is `true` while there was
    /// only white space.
    Thinking { closing: &'static str, held: String, blank: bool },
    /// In text without an opening tag, which is all reasoning if a closing tag follows.
    Unopened(Unopened),
    /// After reasoning, before the first word of the text.
    Between,
    /// In the text, where tags are ordinary text.
    Text,
}

/// Text that started without an opening tag.
#[derive(Debug)]
struct Unopened {
    /// `true` if it is returned as reasoning, because of the model's habit.
    is_reasoning: bool,
    all: String,
    /// Length of the part that was already returned, in bytes.
    given: usize,
    /// Position from which to search for closing tags, in bytes.
    searched: usize,
    /// Number of closing tags that were ordinary text.
    quoted: usize,
}

impl ReasoningTags {
    /// Creates a reader for an answer of a model with this habit.
    pub(crate) fn new(habit: UnopenedReasoning) -> Self {
        Self { state: State::Before(String::new()), habit, pair: TAGS[0], has_reasoning_field: false }
    }

    /// Records that the server sends reasoning in a separate field.
    pub(crate) fn note_reasoning_field(&mut self) {
        self.has_reasoning_field = true;
    }

    /// Returns the tags around the reasoning, or the default ones.
    pub(crate) fn pair(&self) -> (&'static str, &'static str) {
        self.pair
    }

    /// Takes the next portion and returns the pieces that are certain.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Segment> {
        let mut said = Vec::new();
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let (first, after) = rest.split_at(c.len_utf8());
            rest = match &mut self.state {
                State::Text => {
                    push_text(&mut said, rest);
                    break;
                }
                State::Unopened(unopened) => {
                    unopened.all.push_str(rest);
                    let Some(after) = self.find_closing(&mut said) else { break };
                    said.extend(self.push(&after));
                    break;
                }
                _ => {
                    self.character(c, first, &mut said);
                    after
                }
            };
        }
        said
    }

    /// Ends the answer and returns the text that was held back. Reasoning without a closing tag stays reasoning, with
    /// one exception: the answer is not truncated, and was read as reasoning because of the model's habit. Then all of
    /// it was text.
    pub(crate) fn end(&mut self, cut_off: bool) -> Option<Segment> {
        let (said, text): (fn(String) -> Segment, _) = match std::mem::replace(&mut self.state, State::Text) {
            State::Before(held) => (Segment::Text, held),
            State::Thinking { held, .. } => (Segment::Reasoning, held),
            State::Unopened(Unopened { is_reasoning: true, all, .. }) if !cut_off => {
                self.habit.learn(false);
                (Segment::ReasoningWasText, all)
            }
            State::Unopened(Unopened { is_reasoning, all, given, .. }) => {
                (if is_reasoning { Segment::Reasoning } else { Segment::Text }, all[given..].to_owned())
            }
            State::Between | State::Text => return None,
        };
        (!text.is_empty()).then(|| said(text))
    }

    fn character(&mut self, c: char, written: &str, said: &mut Vec<Segment>) {
        match &mut self.state {
            State::Before(held) => {
                held.push(c);
                let written = held.trim_start();
                if let Some(pair) = TAGS.iter().find(|(opening, _)| *opening == written) {
                    self.pair = *pair;
                    self.state = State::Thinking { closing: pair.1, held: String::new(), blank: true };
                } else if TAGS.iter().any(|(_, closing)| *closing == written) {
                    // The server removed the reasoning, but not its closing tag.
                    self.state = State::Between;
                } else if held.len() > MAX_BLANK_BYTES
                    || !TAGS
                        .iter()
                        .any(|(opening, closing)| opening.starts_with(written) || closing.starts_with(written))
                {
                    let held = std::mem::take(held);
                    self.begin(&held, said);
                }
            }
            State::Thinking { closing, held, blank } => {
                held.push(c);
                if held == closing {
                    self.state = State::Between;
                    return;
                }
                // Characters that cannot begin the closing tag are reasoning. The tag's first character occurs only
                // once in the tag.
                let may_begin_bytes = if closing.starts_with(c) { c.len_utf8() } else { 0 };
                let kept = if closing.starts_with(held.as_str()) { 0 } else { held.len() - may_begin_bytes };
                let text: String = held.drain(..kept).collect();
                let text = if *blank { text.trim_start() } else { &text };
                *blank &= text.is_empty();
                push_reasoning(said, text);
            }
            State::Between if c.is_whitespace() => {}
            State::Between | State::Text | State::Unopened(_) => {
                self.state = State::Text;
                push_text(said, written);
            }
        }
    }

    /// Starts an answer without an opening tag.
    fn begin(&mut self, held: &str, said: &mut Vec<Segment>) {
        if self.has_reasoning_field {
            self.state = State::Text;
        } else {
            let is_reasoning = self.habit.begins_with_reasoning();
            let unopened = Unopened { is_reasoning, all: String::new(), given: 0, searched: 0, quoted: 0 };
            self.state = State::Unopened(unopened);
        }
        let held = if matches!(&self.state, State::Unopened(unopened) if unopened.is_reasoning) {
            held.trim_start()
        } else {
            held
        };
        said.extend(self.push(held));
    }

    /// Appends the certain part of text without an opening tag to `said`. Returns the text after its closing tag, if
    /// there is one.
    fn find_closing(&mut self, said: &mut Vec<Segment>) -> Option<String> {
        let State::Unopened(unopened) = &mut self.state else { return None };
        while let Some((at, pair)) = unopened.next_closing() {
            let before = &unopened.all[..at];
            // Both tags are ordinary text if the text before contains the opening tag.
            let is_ordinary_text =
                self.has_reasoning_field || is_quoted(before) || (!unopened.is_reasoning && before.contains(pair.0));
            if is_ordinary_text {
                unopened.searched = at + pair.1.len();
                unopened.quoted += 1;
                continue;
            }
            if unopened.is_reasoning {
                push_reasoning(said, &before[unopened.given..]);
            } else {
                // The text of this portion was not returned yet.
                said.clear();
                said.extend(
                    Some(before.trim_start())
                        .filter(|text| !text.is_empty())
                        .map(|text| Segment::TextWasReasoning(text.to_owned())),
                );
            }
            let after = unopened.all.split_off(at + pair.1.len());
            self.habit.learn(true);
            self.pair = pair;
            self.state = State::Between;
            return Some(after);
        }
        let certain = unopened.certain();
        let text = &unopened.all[unopened.given..certain];
        let push = if unopened.is_reasoning { push_reasoning } else { push_text };
        push(said, text);
        (unopened.given, unopened.searched) = (certain, unopened.searched.max(certain));
        if unopened.quoted > MAX_QUOTED_TAGS && !unopened.is_reasoning {
            push_text(said, &unopened.all[certain..]);
            self.state = State::Text;
        }
        None
    }
}

impl Unopened {
    /// Returns the position of the next closing tag, and its pair of tags.
    fn next_closing(&self) -> Option<(usize, (&'static str, &'static str))> {
        if self.quoted > MAX_QUOTED_TAGS {
            return None;
        }
        let rest = &self.all[self.searched..];
        let found = TAGS.into_iter().filter_map(|pair| Some((self.searched + rest.find(pair.1)?, pair)));
        found.min_by_key(|(at, _)| *at)
    }

    /// Returns the length of the text before a possible beginning of a closing tag, in bytes.
    fn certain(&self) -> usize {
        let is_open = |at: &usize| TAGS.iter().any(|(_, closing)| closing.starts_with(&self.all[*at..]));
        let longest = TAGS.iter().map(|(_, closing)| closing.len()).max().unwrap_or_default();
        let from = self.all.floor_char_boundary(self.all.len().saturating_sub(longest)).max(self.given);
        let mut places = self.all[from..].char_indices().map(|(at, _)| from + at);
        places.find(is_open).unwrap_or(self.all.len())
    }
}

/// Returns `true` if the text after `before` is code or in quotation marks.
fn is_quoted(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_odd = |text: &str, mark: &str| text.matches(mark).count() % 2 == 1;
    is_odd(before, "```") || is_odd(line, "`") || before.ends_with(['"', '\'', '“', '‘', '「'])
}

fn push_text(said: &mut Vec<Segment>, content: &str) {
    match said.last_mut() {
        _ if content.is_empty() => {}
        Some(Segment::Text(text)) => text.push_str(content),
        _ => said.push(Segment::Text(content.to_owned())),
    }
}

fn push_reasoning(said: &mut Vec<Segment>, text: &str) {
    match said.last_mut() {
        _ if text.is_empty() => {}
        Some(Segment::Reasoning(reasoning)) => reasoning.push_str(text),
        _ => said.push(Segment::Reasoning(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::openai::reasoning_tags::{ReasoningTags, Segment, UnopenedReasoning};

    /// Returns the reasoning and the text of a model's first answer.
    fn read(portions: &[&str]) -> (String, String) {
        read_with(&UnopenedReasoning::default(), portions, false)
    }

    fn read_with(habit: &UnopenedReasoning, portions: &[&str], cut_off: bool) -> (String, String) {
        let mut tags = ReasoningTags::new(habit.clone());
        let mut said: Vec<Segment> = portions.iter().flat_map(|portion| tags.push(portion)).collect();
        said.extend(tags.end(cut_off));
        let (mut reasoning, mut text) = (String::new(), String::new());
        for piece in said {
            match piece {
                Segment::Reasoning(content) => reasoning.push_str(&content),
                Segment::Text(content) => text.push_str(&content),
                Segment::TextWasReasoning(content) => (reasoning, text) = (content, String::new()),
                Segment::ReasoningWasText(content) => (reasoning, text) = (String::new(), content),
            }
        }
        (reasoning, text)
    }

    #[test]
    fn text_between_tags_before_the_answer_is_reasoning() {
        for (answer, reasoning, text) in [
            ("<think>\nHm: 1 < 2.\n</think>\n\nThree.", "Hm: 1 < 2.\n", "Three."),
            (" \n<think>a</think>b", "a", "b"),
            ("<thinking>a</think></thinking>b", "a</think>", "b"),
            ("<thought>a<</thought> b", "a<", "b"),
            ("<think></think>b", "", "b"),
            ("<think>\n\n</think>\n\nb", "", "b"),
            // Never closed.
            ("<think>a</thi", "a</thi", ""),
            ("<think>", "", ""),
            // Ordinary text.
            ("Well: <think>a</think>", "", "Well: <think>a</think>"),
            ("<thinker>a", "", "<thinker>a"),
            ("<th", "", "<th"),
            (" x", "", " x"),
            ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
            ("[THINK]a[b[/THINK]c", "a[b", "c"),
            ("<seed:think>a<b</seed:think>c", "a<b", "c"),
            ("<reason>a</reason>b", "a", "b"),
            ("<|begin_of_thought|>a<|b<|end_of_thought|>c", "a<|b", "c"),
            ("◁think▷a◁b◁/think▷c", "a◁b", "c"),
            ("<reasoning>a</reasoning>b", "a", "b"),
        ] {
            assert_eq!(read(&[answer]), (reasoning.to_owned(), text.to_owned()), "{answer}");
        }
    }

    #[test]
    fn text_before_a_lone_closing_tag_is_reasoning() {
        for (answer, reasoning, text) in [
            ("Hm: 1 < 2.\n</think>\n\nThree.", "Hm: 1 < 2.\n", "Three."),
            ("\nHm.</think>Three.", "Hm.", "Three."),
            ("Hm.</thinking>Three.", "Hm.", "Three."),
            ("Hm.[/THINK]Three.", "Hm.", "Three."),
            ("Hm.◁/think▷Three.", "Hm.", "Three."),
            ("Hm.</think>", "Hm.", ""),
            ("</think>\n\nThree.", "", "Three."),
            ("a</think>b</think>c", "a", "b</think>c"),
            ("It ends with `</think>`, I think.\n</think>\nThree.", "It ends with `</think>`, I think.\n", "Three."),
            // Ordinary text.
            ("Its tag is `</think>`.", "", "Its tag is `</think>`."),
            ("Its tag is \"</think>\".", "", "Its tag is \"</think>\"."),
            ("```xml\n</think>\n```\nThat.", "", "```xml\n</think>\n```\nThat."),
            ("Use <think>a</think>.", "", "Use <think>a</think>."),
            ("Three </thi", "", "Three </thi"),
        ] {
            assert_eq!(read(&[answer]), (reasoning.to_owned(), text.to_owned()), "{answer}");
            let single: Vec<String> = answer.chars().map(String::from).collect();
            let single: Vec<&str> = single.iter().map(String::as_str).collect();
            assert_eq!(read(&single), (reasoning.to_owned(), text.to_owned()), "{answer}");
        }
    }

    #[test]
    fn a_model_that_starts_inside_its_reasoning_is_detected() {
        let habit = UnopenedReasoning::new(false);
        read_with(&habit, &["Hm.\n</think>\nThree."], false);
        let mut tags = ReasoningTags::new(habit.clone());
        assert_eq!(tags.push("\nLet me "), [Segment::Reasoning("Let me ".to_owned())]);
        assert_eq!(tags.push("see.</th"), [Segment::Reasoning("see.".to_owned())]);
        assert_eq!(tags.push("ink>\n\nFour."), [Segment::Text("Four.".to_owned())]);
        assert_eq!(tags.end(false), None);
        // An answer with its own tags is read as usual.
        let read = |answer: &str, cut_off| read_with(&habit, &[answer], cut_off);
        let pair = |reasoning: &str, text: &str| (reasoning.to_owned(), text.to_owned());
        assert_eq!(read("<think>a</think>b", false), pair("a", "b"));
        assert_eq!(read("And so, </thi", true), pair("And so, </thi", ""), "its end was cut off");
        assert_eq!(read("Five.", false), pair("", "Five."), "this time it did not reason");
        assert_eq!(ReasoningTags::new(habit).push("Six."), [Segment::Text("Six.".to_owned())]);
    }

    #[test]
    fn a_lone_closing_tag_is_text_if_reasoning_has_its_own_field() {
        for answer in ["a</think>b", "\n a</think>b"] {
            let mut tags = ReasoningTags::new(UnopenedReasoning::default());
            tags.note_reasoning_field();
            assert_eq!(tags.push(answer), [Segment::Text(answer.to_owned())]);
        }
    }

    #[test]
    fn many_quoted_tags_are_text() {
        let answer = "`</think>` ".repeat(1000);
        assert_eq!(read(&[&answer, "</think>"]), (String::new(), format!("{answer}</think>")));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(answer in "( |\n)?(<|</|think|>|考|`|a| ){0,12}", places in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let mut cuts: Vec<usize> = places.iter().map(|place| answer.floor_char_boundary(place.index(answer.len() + 1))).collect();
            cuts.sort_unstable();
            let mut portions = Vec::new();
            let mut start = 0;
            for cut in cuts {
                portions.push(&answer[start..cut]);
                start = cut;
            }
            portions.push(&answer[start..]);
            prop_assert_eq!(read(&portions), read(&[&answer]));
        }
    }
}
