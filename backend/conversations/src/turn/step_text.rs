//! Joins the texts of a turn's steps into one answer, with an empty line between them.

/// Two line feeds: the end of a line, and an empty line.
const EMPTY_LINE: &str = "\n\n";

/// Returns the separator to write before the text of the next step. `text` is the answer so far.
pub(crate) fn separator(text: &str) -> &'static str {
    let line_feeds = text.bytes().rev().take_while(|byte| *byte == b'\n').count();
    if text.is_empty() { "" } else { &EMPTY_LINE[line_feeds.min(EMPTY_LINE.len())..] }
}

/// Returns the number of bytes that the texts of these steps take in an answer. Answers from before the empty line was
/// introduced contain the texts without separators.
pub(crate) fn bytes_in(answer: &str, steps: &[String]) -> usize {
    let joined = joined(steps);
    if answer.starts_with(&joined) { joined.len() } else { steps.iter().map(String::len).sum() }
}

fn joined(steps: &[String]) -> String {
    let mut answer = String::new();
    for text in steps.iter().filter(|text| !text.is_empty()) {
        answer.push_str(separator(&answer));
        answer.push_str(text);
    }
    answer
}

#[cfg(test)]
mod tests {
    use crate::turn::step_text::{bytes_in, joined};

    #[test]
    fn an_empty_line_separates_two_texts() {
        for (steps, answer) in [
            (vec!["Let me see.", "Done."], "Let me see.\n\nDone."),
            (vec!["Let me see.\n", "", "Done."], "Let me see.\n\nDone."),
            (vec!["Let me see.\n\n\n", "Done."], "Let me see.\n\n\nDone."),
            (vec!["", "Done."], "Done."),
        ] {
            let steps: Vec<String> = steps.into_iter().map(str::to_owned).collect();
            assert_eq!(joined(&steps), answer);
            assert_eq!(bytes_in(&format!("{answer}\n\nAnd"), &steps), answer.len());
        }
    }

    #[test]
    fn earlier_texts_are_recognized_as_prefixes() {
        let steps = ["Let me see.".to_owned(), "Done.".to_owned()];
        assert_eq!(bytes_in("Let me see.Done.And", &steps), "Let me see.Done.".len());
    }
}
