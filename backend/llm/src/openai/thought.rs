//! Thinking that a model writes into its text, between tags before its answer (DeepSeek, Qwen), where its server
//! does not take it out. Read character by character, so any split of the text gives the same.

use crate::event::ModelEvent;

/// The tags between which models think.
const TAGS: [(&str, &str); 3] = [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<thought>", "</thought>")];

/// The most blanks before the tag.
const MAX_BLANK_BYTES: usize = 64;

/// A piece of what a model wrote; never empty.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Thought(String),
    Text(String),
}

impl Said {
    pub(super) fn into_event(self) -> ModelEvent {
        match self {
            Self::Thought(words) => ModelEvent::ReasoningDelta(words),
            Self::Text(words) => ModelEvent::TextDelta(words),
        }
    }
}

/// Tells thinking from text while an answer streams in.
#[derive(Debug, Default)]
pub(super) struct ThoughtTags(State);

#[derive(Debug)]
enum State {
    /// Before the first word: what may become a tag, with the blanks before it.
    Before(String),
    /// In thinking, until this tag, of which this much may have come; `blank`: it has said nothing yet.
    Thinking { closing: &'static str, held: String, blank: bool },
    /// After thinking, before the first word of the text.
    Between,
    /// In the text, in which tags are words.
    Text,
}

impl Default for State {
    fn default() -> Self {
        Self::Before(String::new())
    }
}

impl ThoughtTags {
    /// Takes the next portion and gives what is certain now.
    pub(super) fn push(&mut self, text: &str) -> Vec<Said> {
        let mut said = Vec::new();
        for (at, c) in text.char_indices() {
            if matches!(self.0, State::Text) {
                push_text(&mut said, &text[at..]);
                break;
            }
            self.character(c, &mut said);
        }
        said
    }

    /// The answer is over: what was held back was written too. A thought without an end was nothing but that.
    pub(super) fn end(&mut self) -> Option<Said> {
        let (said, words): (fn(String) -> Said, _) = match std::mem::replace(&mut self.0, State::Text) {
            State::Before(held) => (Said::Text, held),
            State::Thinking { held, .. } => (Said::Thought, held),
            State::Between | State::Text => return None,
        };
        (!words.is_empty()).then(|| said(words))
    }

    fn character(&mut self, c: char, said: &mut Vec<Said>) {
        match &mut self.0 {
            State::Before(held) => {
                held.push(c);
                let written = held.trim_start();
                if let Some((_, closing)) = TAGS.iter().find(|(opening, _)| *opening == written) {
                    self.0 = State::Thinking { closing, held: String::new(), blank: true };
                } else if held.len() > MAX_BLANK_BYTES || !TAGS.iter().any(|(opening, _)| opening.starts_with(written))
                {
                    push_text(said, held);
                    self.0 = State::Text;
                }
            }
            State::Thinking { closing, held, blank } => {
                held.push(c);
                if held == closing {
                    self.0 = State::Between;
                    return;
                }
                // What cannot be the beginning of the tag is thought; the tag begins with the only `<` in it.
                let kept = if closing.starts_with(held.as_str()) { 0 } else { held.len() - usize::from(c == '<') };
                let words: String = held.drain(..kept).collect();
                let words = if *blank { words.trim_start() } else { &words };
                *blank &= words.is_empty();
                push_thought(said, words);
            }
            State::Between if c.is_whitespace() => {}
            State::Between | State::Text => {
                self.0 = State::Text;
                push_text(said, c.encode_utf8(&mut [0; 4]));
            }
        }
    }
}

fn push_text(said: &mut Vec<Said>, words: &str) {
    match said.last_mut() {
        _ if words.is_empty() => {}
        Some(Said::Text(text)) => text.push_str(words),
        _ => said.push(Said::Text(words.to_owned())),
    }
}

fn push_thought(said: &mut Vec<Said>, words: &str) {
    match said.last_mut() {
        _ if words.is_empty() => {}
        Some(Said::Thought(thought)) => thought.push_str(words),
        _ => said.push(Said::Thought(words.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Said, ThoughtTags};

    /// What was thought, and what was said.
    fn read(portions: &[&str]) -> (String, String) {
        let mut tags = ThoughtTags::default();
        let mut said: Vec<Said> = portions.iter().flat_map(|portion| tags.push(portion)).collect();
        said.extend(tags.end());
        let (mut thought, mut text) = (String::new(), String::new());
        for piece in said {
            match piece {
                Said::Thought(words) => thought.push_str(&words),
                Said::Text(words) => text.push_str(&words),
            }
        }
        (thought, text)
    }

    #[test]
    fn what_stands_between_tags_before_the_answer_is_thinking() {
        for (answer, thought, text) in [
            ("<think>\nHm: 1 < 2.\n</think>\n\nThree.", "Hm: 1 < 2.\n", "Three."),
            (" \n<think>a</think>b", "a", "b"),
            ("<thinking>a</think></thinking>b", "a</think>", "b"),
            ("<thought>a<</thought> b", "a<", "b"),
            ("<think></think>b", "", "b"),
            ("<think>\n\n</think>\n\nb", "", "b"),
            // Never closed.
            ("<think>a</thi", "a</thi", ""),
            ("<think>", "", ""),
            // Words.
            ("Well: <think>a</think>", "", "Well: <think>a</think>"),
            ("<thinker>a", "", "<thinker>a"),
            ("<th", "", "<th"),
            (" x", "", " x"),
            ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
        ] {
            assert_eq!(read(&[answer]), (thought.to_owned(), text.to_owned()), "{answer}");
        }
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(answer in "( |\n)?(<|</|think|>|考|a| ){0,12}", places in proptest::collection::vec(any::<prop::sample::Index>(), 0..6)) {
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
