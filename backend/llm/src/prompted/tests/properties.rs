//! Property tests: invariants of parsing any answer.

use proptest::prelude::*;

use super::{Read, read, read_portions};

/// Pieces of text that resemble parts of a call.
const NEAR: [&str; 46] = [
    "```",
    "``",
    "`",
    "~~~",
    "~",
    "tool",
    "json",
    "tool_result",
    "rust",
    "\n",
    "\n",
    "\n",
    "\r\n",
    " ",
    "    ",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "\\",
    "\"tool\"",
    "\"add\"",
    "\"args\"",
    "{\"tool\":\"add\",\"args\":{",
    "{\"a\":1.50}",
    "}}",
    "数🙂",
    "words",
    "<",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "<function=add>",
    "<parameter=a>",
    "</parameter>",
    "</function>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "add",
    "<|python_tag|>",
    "<think>",
    "</think>",
    "{\"tool\":\"add\",\"args\":{\"a\":1}}",
];

/// Generates text that resembles calls as closely as possible.
fn near_calls() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(&NEAR[..]), 0..40).prop_map(|pieces| pieces.concat())
}

/// Generates text that contains no call and opens no block.
fn words() -> impl Strategy<Value = String> {
    "([a-zA-Z0-9 .,;:!?(){}\"'*#|数🙂-][a-zA-Z0-9 .,;:!?(){}\\[\\]\"'`~*#|数🙂-]{0,30}\n{1,2}){0,4}"
        .prop_filter("no line begins with a bracket", |text| {
            !text.lines().any(|line| line.trim_start().starts_with(['{', '[', '`', '~']))
        })
}

/// Generates a call's arguments in various spellings.
fn input() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[1-9][0-9]{0,40}\\.[0-9]{1,40}0".prop_map(|number| format!("{{\"a\": {number}, \"b\":\"{number}\"}}")),
        ".{0,20}".prop_map(|text| serde_json::json!({"text": text, "x": [{"y": null}]}).to_string()),
        ".{0,20}".prop_map(|text| serde_json::to_string_pretty(&serde_json::json!({"t": text, "fence": "\n```\n"})).unwrap()),
        Just("{}".to_owned()),
    ]
}

/// Generates a call as a model may write it, and its arguments.
fn call_block() -> impl Strategy<Value = (String, String)> {
    let words = proptest::sample::select(&["tool", "json", "", "tool_call", "Tool "][..]);
    let marks = proptest::sample::select(&["```", "````", "~~~", "<tool_call>", ""][..]);
    (input(), words, marks).prop_map(|(input, word, mark)| {
        let call = format!("{{\"tool\": \"add\", \"args\": {input}}}");
        let block = match mark {
            "" => format!("{call}\n"),
            "<tool_call>" => format!("<tool_call>{call}</tool_call>\n"),
            fence => format!("{fence}{word}\n{call}\n{fence}\n"),
        };
        (block, input)
    })
}

/// Splits text at these positions.
fn cut<'a>(text: &'a str, places: &[prop::sample::Index]) -> Vec<&'a str> {
    let mut places: Vec<usize> =
        places.iter().map(|place| text.floor_char_boundary(place.index(text.len() + 1))).collect();
    places.sort_unstable();
    places.push(text.len());
    let mut start = 0;
    places.into_iter().map(|end| &text[std::mem::replace(&mut start, end)..end]).collect()
}

fn by_character(text: &str, cut_off: bool) -> Read {
    let portions: Vec<&str> = text.split("").filter(|portion| !portion.is_empty()).collect();
    read_portions(&portions, cut_off)
}

proptest! {
    #[test]
    fn any_split_gives_the_same(
        text in prop_oneof![near_calls(), ".*"],
        places in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
        cut_off: bool,
    ) {
        let whole = read_portions(&[&text], cut_off);
        prop_assert_eq!(&read_portions(&cut(&text, &places), cut_off), &whole);
        prop_assert_eq!(by_character(&text, cut_off), whole);
    }

    #[test]
    fn text_without_calls_is_passed_on_unchanged(text in prop_oneof![near_calls(), ".*", words()], cut_off: bool) {
        let (shown, calls) = read_portions(&[&text], cut_off);
        // If there are calls, the shown text is still the text before them.
        prop_assert!(text.starts_with(&shown));
        prop_assert!(shown == text || !calls.is_empty());
    }

    #[test]
    fn words_are_passed_on_up_to_their_last_line_at_once(text in words()) {
        let mut parser = super::Parser::new(super::tools());
        let shown: usize = parser.push(&text).iter().map(|piece| match piece {
            super::Piece::Text(text) => text.len(),
            super::Piece::Call(_) => 0,
        }).sum();
        prop_assert_eq!(shown, text.len());
    }

    #[test]
    fn calls_come_in_order_with_their_exact_arguments_and_are_never_seen(
        before in words(),
        blocks in proptest::collection::vec((call_block(), words()), 1..6),
        places in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let answer = blocks.iter().fold(before.clone(), |answer, ((block, _), words)| format!("{answer}{block}{words}"));
        let (shown, calls) = read_portions(&cut(&answer, &places), false);
        prop_assert_eq!(shown, before);
        let expected: Vec<_> = blocks.into_iter().map(|((_, input), _)| ("add".to_owned(), input)).collect();
        prop_assert_eq!(calls, expected);
    }

    #[test]
    fn nonsense_never_panics_nor_runs_broken_json(text in near_calls(), wrapped: bool) {
        let text = if wrapped { format!("```tool\n{text}\n```") } else { text };
        let says_tool = ["```tool", "~~~tool", "<tool_call>"].iter().any(|mark| text.contains(mark));
        for (_, input) in read(&text).1 {
            let readable = serde_json::from_str::<&serde_json::value::RawValue>(&input).is_ok();
            prop_assert!(readable || says_tool, "{}", input);
        }
    }
}
