//! Tests of parsing an answer's text: all forms in which models write calls, and text that is not a call.

mod properties;
mod wire;

use std::sync::Arc;

use tallybook_tools::{ToolSpec, builtin};

use super::{
    call::Call,
    parser::{Parser, Piece},
};
use crate::limits::MAX_HELD_BYTES;

fn tools() -> Arc<[ToolSpec]> {
    builtin().unwrap().specs()
}

/// The text that the user sees, and the calls as name and arguments.
type Read = (String, Vec<(String, String)>);

/// Parses an answer that is received in these portions.
fn read_portions(portions: &[&str], cut_off: bool) -> Read {
    let mut parser = Parser::new(tools());
    let mut pieces: Vec<Piece> = portions.iter().flat_map(|portion| parser.push(portion)).collect();
    pieces.extend(parser.end(cut_off));
    let (mut text, mut calls) = (String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(more) => {
                assert!(!more.is_empty() && calls.is_empty(), "{more:?} after {calls:?}");
                text.push_str(&more);
            }
            Piece::Call(Call { name, input_text }) => calls.push((name, input_text)),
        }
    }
    (text, calls)
}

fn read(answer: &str) -> Read {
    read_portions(&[answer], false)
}

fn call(name: &str, input: &str) -> (String, String) {
    (name.to_owned(), input.to_owned())
}

/// Asserts that the complete text is shown and contains no calls.
fn assert_ordinary(answer: &str) {
    assert_eq!(read(answer), (answer.to_owned(), vec![]), "{answer}");
}

const EXACT: &str = r#"{"a": 0.1000000000000000000001, "b":1e400}"#;

#[test]
fn a_call_in_every_form_that_models_write() {
    let long = format!("\"{}\"", EXACT.replace('"', "\\\""));
    for answer in [
        format!("```tool\n{{\"tool\": \"add\", \"args\": {EXACT}}}\n```"),
        format!("```tool\r\n{{\"tool\": \"add\", \"args\": {EXACT}}}\r\n```\r\n"),
        format!("  ```Tool \n\n{{\n  \"tool\": \"add\",\n  \"args\": {EXACT}\n}}\n\n  ````  \n"),
        format!("```tool_call\n{{\"name\":\"add\",\"arguments\":{EXACT}}}\n```"),
        format!("```json\n{{\"tool_name\":\"add\",\"parameters\":{EXACT}}}\n```"),
        format!("```\n{{\"function\":\"add\",\"input\":{EXACT}}}\n```"),
        format!("````json\n{{\"args\":{EXACT},\"tool\":\"add\"}}\n````"),
        format!("~~~tool\n{{\"tool\":\"add\",\"args\":{EXACT}}}\n~~~"),
        format!("~~~json\n{{\"tool\":\"add\",\"args\":{EXACT}}}\n~~~~"),
        format!("```tool {{\"tool\":\"add\",\"args\":{EXACT}}}```"),
        format!("<tool_call>\n{{\"name\": \"add\", \"arguments\": {EXACT}}}\n</tool_call>\n"),
        format!("  <tool_call>{{\"name\": \"add\", \"arguments\": {EXACT}}}</tool_call>"),
        format!("<tool_calls>[{{\"name\": \"add\", \"arguments\": {EXACT}}}]</tool_calls>"),
        format!("<function_call>{{\"name\":\"add\",\"arguments\":{long}}}</function_call>"),
        format!("```json\n{{\"tool\":\"add\",\"args\":{EXACT}}}```\n"),
        format!("{{\"tool\":\"add\",\"args\":{EXACT}}}"),
        format!("  {{\n\"name\":\"add\",\n\"parameters\":{EXACT}\n}}\n"),
        format!("[{{\"name\":\"add\",\"arguments\":{EXACT}}}]"),
        format!("{{\"name\":\"add\",\"arguments\":{long}}}"),
        format!("{{\"function\":{{\"name\":\"add\",\"arguments\":{long}}}}}"),
        format!("{{\"id\":\"call_1\",\"type\":\"function\",\"function\":{{\"name\":\"add\",\"arguments\":{long}}}}}"),
        format!(
            "{{\"tool_calls\":[{{\"type\":\"function\",\"function\":{{\"name\":\"add\",\"arguments\":{long}}}}}]}}"
        ),
        format!("{{\"type\":\"tool_use\",\"id\":\"x\",\"name\":\"add\",\"input\":{EXACT}}}"),
        format!("{{\"tool_call\":{{\"name\":\"functions.Add\",\"arguments\":{EXACT}}}}}"),
        format!("```tool\n{{\"tool\":\"plus\",\"args\":{EXACT}}}\n```"),
        format!("```json\n{{\"reasoning\":\"It's a sum: \\\"```\\\"\",\"tool\":\"sum\",\"args\":{EXACT}}}\n```"),
    ] {
        assert_eq!(read(&answer), (String::new(), vec![call("add", EXACT)]), "{answer}");
        assert_eq!(read(&format!("I add.\n{answer}")), ("I add.\n".to_owned(), vec![call("add", EXACT)]), "{answer}");
    }
}

#[test]
fn several_calls_in_every_form() {
    let one = r#"{"tool":"add","args":{"a":1,"b":2}}"#;
    let two = r#"{"name":"multiply","arguments":{"a":3,"b":4}}"#;
    for answer in [
        format!("Let me see.\n```tool\n{one}\n```\n```tool\n{two}\n```"),
        format!("Let me see.\n```tool\n{one}\n```\n\nAnd then:\n\n```json\n{two}\n```\nDone."),
        format!("Let me see.\n```tool\n{one}\n{two}\n```"),
        format!("Let me see.\n```json\n[{one},\n {two}]\n```"),
        format!("Let me see.\n[{one}, {two}]"),
        format!("Let me see.\n{one}\n{two}\n"),
        format!("Let me see.\n{one} {two}"),
        format!("Let me see.\n{one}, {two}"),
        format!("Let me see.\n```tool\n{one}\n```\n{two}"),
        format!("Let me see.\n<tool_call>\n{one}\n</tool_call>\n<tool_call>\n{two}\n</tool_call>"),
        format!("Let me see.\n<tool_call>{one}{two}</tool_call>"),
    ] {
        let calls = vec![call("add", r#"{"a":1,"b":2}"#), call("multiply", r#"{"a":3,"b":4}"#)];
        assert_eq!(read(&answer), ("Let me see.\n".to_owned(), calls), "{answer}");
    }
}

#[test]
fn ordinary_code_and_data_are_shown_as_they_are() {
    for answer in [
        "Plain words, `code`, and ``` in a line.\nTwo lines.\r\n\r\n  Indented, 🙂.",
        "```rust\nfn main() {}\n```\nThat was it.\n",
        "```\nplain block\n```\n",
        "```json\n{\"name\": \"Bob\", \"age\": 3}\n```\n",
        "```json\n{\"name\": \"Bob\", \"input\": {\"a\": 1}, \"age\": 3}\n```\n",
        "```json\n[1, 2, 3]\n```",
        "```json\n{}\n```",
        "```json\nnot JSON\n```",
        "```tool\nls -la\n```\n",
        "```tool\n```\n",
        "```tool\n{\"a\": 1}\n```\n",
        "```tool\n[{\"tool\":\"add\",\"args\":{}}, 7]\n```\n",
        "{\"users\": [\n{\"tool\":\"add\",\"args\":{}}\n]}",
        "[a link](https://example.com)\n[1] a source\n{braces}\n",
        "[ ] to do\n[x] done\n",
        "{\"tool\": \"add\", \"args\": 7}",
        "{\"tool\": \"add\"}\n",
        "{\"function\": \"f(x)\", \"arguments\": \"x\"}",
        "{\"name\": \"\", \"arguments\": {\"a\": 1}}",
        "```tool\n{\"tool\": \" \", \"args\": {}}\n```\n",
        // The form of a tool's definition.
        "{\"name\":\"add\",\"description\":\"Adds.\",\"parameters\":{\"type\":\"object\"}}",
        "```json\n{\"type\":\"function\",\"function\":{\"name\":\"add\",\"description\":\"x\",\"parameters\":{}}}\n```",
        // Code blocks contain no calls.
        "````markdown\n```tool\n{\"tool\":\"add\",\"args\":{}}\n```\n````\n",
        "```python\n{\"tool\":\"add\",\"args\":{}}\n```\n",
        "~~~sh\n```tool\n{\"tool\":\"add\",\"args\":{}}\n```\n~~~\n",
        "Write `{\"tool\": \"add\", \"args\": {}}` to call it.",
        "```tool_result\n{\"id\":\"x\"}\n```\n",
        "Between <tool_call> and </tool_call> there is JSON: <tool_call>JSON</tool_call>, not <tool_caller>{}.\n",
        "<tool_call>{\"a\": 1}</tool_call>\n",
        "<tool_response>\n{}\n</tool_response>\n",
        "```html\n<tool_call>{\"tool\":\"add\",\"args\":{}}</tool_call>\n```\n",
        "a < b, <b>c</b>, <<tool",
        "It is written ```tool```, or ```json {\"a\": 1}``` where it is data.\n",
        "Like ```code```\n[1] and ``` tool\n",
        "~",
        "``",
        "```",
        "```js",
        "   ",
        "{",
        "",
    ] {
        assert_ordinary(answer);
    }
}

#[test]
fn code_in_a_line_opens_no_block() {
    let answer = "```code``` is how it looks.\n```tool\n{\"tool\":\"add\",\"args\":{}}\n```";
    assert_eq!(read(answer), ("```code``` is how it looks.\n".to_owned(), vec![call("add", "{}")]));
}

#[test]
fn calls_that_begin_within_a_line_are_found() {
    let call_in_json = format!("{{\"tool\":\"add\",\"args\":{EXACT}}}");
    for answer in [
        format!("```tool\n{call_in_json}\n```"),
        format!("```tool {call_in_json}``` And so on."),
        format!("```json\n{call_in_json}\n```\n"),
        format!("````tool_call\n{call_in_json}\n````"),
        format!("<tool_call>{call_in_json}</tool_call> And so on."),
        format!("<tool_call>\n{call_in_json}\n</tool_call>"),
    ] {
        for words in ["I add. ", "- ", "So:", "<", "a < b ", "`x` "] {
            let read = read(&format!("{words}{answer}"));
            assert_eq!(read, (words.to_owned(), vec![call("add", EXACT)]), "{words}{answer}");
        }
    }
}

#[test]
fn a_tag_without_a_call_does_not_hide_a_later_call() {
    for before in ["<tool_call>\n", "<tool_call>", "<tool_call>words ", "<tool_call><tool_call>x</tool_call> "] {
        let answer = format!("{before}<tool_call>{{\"tool\":\"add\",\"args\":{{}}}}</tool_call>");
        assert_eq!(read(&answer), (before.to_owned(), vec![call("add", "{}")]), "{answer}");
    }
    let fence = "<tool_call>\n```tool\n{\"tool\":\"add\",\"args\":{}}\n```";
    assert_eq!(read(fence), ("<tool_call>\n".to_owned(), vec![call("add", "{}")]));
}

#[test]
fn calls_after_ordinary_blocks_are_found() {
    for before in ["```rust\nlet x = \"```\";\n```\n", "```json\n{\"a\": [1]}\n```\n", "[1]: x\n", "{\"a\":\n", "[[\n"]
    {
        let answer = format!("{before}```tool\n{{\"tool\":\"add\",\"args\":{{}}}}\n```");
        assert_eq!(read(&answer), (before.to_owned(), vec![call("add", "{}")]), "{answer}");
    }
}

#[test]
fn an_unknown_name_is_still_a_call_so_that_the_model_gets_an_error() {
    for answer in [
        "```tool\n{\"tool\": \"search the web\", \"args\": {\"q\": \"x\"}, \"why\": 1}\n```",
        "```json\n{\"name\": \"search the web\", \"arguments\": {\"q\": \"x\"}}\n```",
        "{\"name\": \"search the web\", \"arguments\": \"{\\\"q\\\": \\\"x\\\"}\"}",
    ] {
        assert_eq!(read(answer), (String::new(), vec![call("search the web", r#"{"q": "x"}"#)]), "{answer}");
    }
}

#[test]
fn arguments_in_odd_places_and_of_odd_types() {
    for (body, input) in [
        (r#"{"tool":"add","a":1.10,"b":2}"#, r#"{"a":1.10,"b":2}"#),
        (r#"{"tool":"add"}"#, "{}"),
        (r#"{"tool":"add","args":null}"#, "{}"),
        (r#"{"tool":"add","args":""}"#, "{}"),
        (r#"{"tool":"add","args":[1,2]}"#, "[1,2]"),
        (r#"{"tool":"add","args":"one and two"}"#, "one and two"),
    ] {
        assert_eq!(read(&format!("```tool\n{body}\n```")), (String::new(), vec![call("add", input)]), "{body}");
    }
}

#[test]
fn broken_json_in_a_tool_block_becomes_an_error_for_the_model() {
    for body in [
        "{\"tool\": \"plus\", \"args\": {a: 1}}",
        "{\"tool\": \"add\", \"args\": {\"a\": \"two\nlines\"}}",
        "{\"tool\": \"add\", \"args\": {\"a\": 1}",
    ] {
        let calls = vec![call("add", body)];
        assert_eq!(read(&format!("So:\n```tool\n{body}\n```\nThen.")), ("So:\n".to_owned(), calls.clone()), "{body}");
        assert_eq!(read(&format!("So:\n```tool\n{body}\n```")), ("So:\n".to_owned(), calls.clone()), "{body}");
        let tagged = format!("So:\n<tool_call>{body}\n</tool_call>\nThen.");
        assert_eq!(read(&tagged), ("So:\n".to_owned(), calls), "{body}");
    }
    let commented = "```tool\n{\"tool\":\"add\",\"args\":{}} // adds\n```";
    assert_eq!(read(commented), (String::new(), vec![call("add", "{}")]));
    // Without a name, the text may not be meant as a call, so the user sees it as the model wrote it.
    assert_ordinary("```tool\n{no name}\n```\n");
    assert_ordinary("```tool\n{\"args\": {\"a\": 1}}\n```\n");
    assert_ordinary("<tool_call>{\"tool\": \"\", \"args\": {\"a\": 1}}</tool_call>\n");
}

#[test]
fn a_block_that_is_not_closed_counts_when_its_call_is_complete_and_the_answer_was_not_cut_off() {
    let complete = "Well.\n```tool\n{\"tool\":\"add\",\"args\":{}}";
    for answer in [complete.to_owned(), format!("{complete}\n"), format!("{complete}\n``")] {
        assert_eq!(read(&answer), ("Well.\n".to_owned(), vec![call("add", "{}")]), "{answer}");
        assert_eq!(read_portions(&[&answer], true), (answer.clone(), vec![]));
    }
    let tagged = "Well.\n<tool_call>\n{\"tool\":\"add\",\"args\":{}}\n</tool";
    assert_eq!(read(tagged), ("Well.\n".to_owned(), vec![call("add", "{}")]));
    assert_eq!(read_portions(&[tagged], true), (tagged.to_owned(), vec![]));
    let halves = [
        "```tool\n{\"tool\":\"add\",\"args\":{",
        "```tool\n",
        "```to",
        "{\"tool\":\"add\",\"args\":{}",
        "<tool_call>{\"tool\":\"add\"",
        "<tool_call>",
        "<tool",
    ];
    for half in halves {
        for cut_off in [true, false] {
            assert_eq!(read_portions(&[half], cut_off), (half.to_owned(), vec![]));
        }
    }
    // The token limit was reached after the block, so the call is complete.
    let closed = format!("{complete}\n```\nAnd th");
    assert_eq!(read_portions(&[&closed], true), ("Well.\n".to_owned(), vec![call("add", "{}")]));
}

#[test]
fn text_after_the_calls_is_left_out() {
    let block = "```tool\n{\"tool\":\"add\",\"args\":{}}\n```\n";
    let answer = format!("Well.\n{block}The result is 5.\n{block}```tool_result\n{{\"output\": 5}}\n```\nSo:\n{block}");
    assert_eq!(read(&answer), ("Well.\n".to_owned(), vec![call("add", "{}"), call("add", "{}")]));
}

#[test]
fn text_is_held_back_only_if_needed() {
    let mut parser = Parser::new(tools());
    for (portion, shown) in [
        ("Words", "Words"),
        (" at once\n", " at once\n"),
        ("  ", ""),
        ("``", ""),
        ("`", ""),
        ("ru", "  ```ru"),
        ("st\nlet x", "st\nlet x"),
        (";\n```\n", ";\n```\n"),
        ("[", ""),
        ("1]", "[1]"),
        ("\n{\"na", "\n"),
        ("tion\"", "{\"nation\""),
        (": [\"x", ": [\"x"),
        ("\"]}\n", "\"]}\n"),
        ("```json\n", ""),
        ("{\"a", ""),
        ("ge\": 1", "```json\n{\"age\": 1"),
        ("}\n```\n", "}\n```\n"),
        ("a <", "a "),
        ("to", ""),
        ("ols> `", "<tools> "),
        ("``to", ""),
        ("p\n", "```top\n"),
        ("```to", ""),
        ("ol\n{\"tool\": \"add\", ", ""),
        ("\"args\": {}}\n``", ""),
    ] {
        let pieces = parser.push(portion);
        let expected = if shown.is_empty() { vec![] } else { vec![Piece::Text(shown.to_owned())] };
        assert_eq!(pieces, expected, "{portion:?}");
    }
    let added = Call { name: "add".to_owned(), input_text: "{}".to_owned() };
    assert_eq!(parser.push("`"), [Piece::Call(added)]);
}

#[test]
fn held_back_text_is_bounded() {
    let beginnings = [
        "```tool\n{\"tool\":\"add\",\"args\":\"",
        "```json\n{\"tool\":\"",
        "{\"tool\":\"",
        "```tool\n{x ",
        "<tool_call>{\"tool\":\"",
        "<tool_call>{x ",
    ];
    for beginning in beginnings {
        let answer = format!("{beginning}{}", "x".repeat(MAX_HELD_BYTES + 10));
        let mut parser = Parser::new(tools());
        let shown = parser.push(&answer);
        assert_eq!(shown, [Piece::Text(answer)]);
        assert_eq!(parser.push("more"), [Piece::Text("more".to_owned())]);
    }
    for (beginning, filler) in
        [("", " "), ("", "`"), ("```", " "), ("{", " "), ("```json\n", "\n"), ("", "["), ("", "<tool_call>{")]
    {
        let answer = format!("{beginning}{}", filler.repeat(3 * MAX_HELD_BYTES / filler.len()));
        let held = {
            let mut parser = Parser::new(tools());
            let shown: usize = parser
                .push(&answer)
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text.len(),
                    Piece::Call(_) => 0,
                })
                .sum();
            answer.len() - shown
        };
        assert!(held <= MAX_HELD_BYTES + 100, "{held} bytes are held of {beginning:?} and many {filler:?}");
    }
}

#[test]
fn deep_nesting_and_huge_numbers_are_arguments_like_any_other() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    for input in [deep.as_str(), r#"{"a":1e999999}"#, r#"{"a":NaN}"#] {
        let (text, calls) = read(&format!("```tool\n{{\"tool\":\"add\",\"args\":{input}}}\n```"));
        assert_eq!((text.as_str(), calls.len()), ("", 1));
    }
}

/// Calls in the forms of the models' chat templates.
#[test]
fn calls_in_the_dialects_that_models_were_taught() {
    let typed = r#"{"a":0.1000000000000000000001,"b":2}"#;
    for (answer, input) in [
        // Qwen's coding models: XML, with values as bare text.
        ("<tool_call>\n<function=add>\n<parameter=a>\n0.1000000000000000000001\n</parameter>\n<parameter=b>\n2\n</parameter>\n</function>\n</tool_call>".to_owned(), typed),
        ("<function=add>\n<parameter=a>0.1000000000000000000001</parameter>\n<parameter=b>2</parameter>\n</function>".to_owned(), typed),
        // Not closed, but complete.
        ("<tool_call>\n<function=add><parameter=a>0.1000000000000000000001</parameter><parameter=b>2</parameter></function>".to_owned(), typed),
        // Hermes and Qwen.
        (format!("<tool_call>\n{{\"name\": \"add\", \"arguments\": {EXACT}}}\n</tool_call>"), EXACT),
        // Mistral, older and newer.
        (format!("[TOOL_CALLS][{{\"name\": \"add\", \"arguments\": {EXACT}}}]"), EXACT),
        (format!("[TOOL_CALLS] [{{\"name\": \"add\", \"arguments\": {EXACT}, \"id\": \"9Ae3bDc2F\"}}]"), EXACT),
        (format!("[TOOL_CALLS]add[ARGS]{EXACT}"), EXACT),
        (format!("[TOOL_CALLS]add[CALL_ID]9Ae3bDc2F[ARGS]{EXACT}"), EXACT),
        // Llama.
        (format!("<|python_tag|>{{\"name\": \"add\", \"parameters\": {EXACT}}}"), EXACT),
        (format!("<|python_tag|>{{\"type\": \"function\", \"name\": \"add\", \"parameters\": {EXACT}}}<|eom_id|>"), EXACT),
        (format!("{{\"name\": \"add\", \"parameters\": {EXACT}}}"), EXACT),
        ("<|python_tag|>add.call(a=0.1000000000000000000001, b=2)<|eom_id|>".to_owned(), typed),
        ("<|python_tag|> functions.add.call( a=0.1000000000000000000001,b=2 )".to_owned(), typed),
        ("<|python_tag|>add(a=0.1000000000000000000001, b=2)<|eom_id|>".to_owned(), typed),
    ] {
        assert_eq!(read(&answer), (String::new(), vec![call("add", input)]), "{answer}");
        assert_eq!(read(&format!("Adding.\n{answer}")), ("Adding.\n".to_owned(), vec![call("add", input)]), "{answer}");
    }
    let two = format!("I add. [TOOL_CALLS]add[ARGS]{EXACT}[TOOL_CALLS]multiply[ARGS]{{\"a\":1}}");
    assert_eq!(read(&two), ("I add. ".to_owned(), vec![call("add", EXACT), call("multiply", r#"{"a":1}"#)]));
    let two = format!(
        "<|python_tag|>{{\"name\":\"add\",\"parameters\":{EXACT}}}; {{\"name\":\"multiply\",\"parameters\":{{}}}}"
    );
    assert_eq!(read(&two).1, [call("add", EXACT), call("multiply", "{}")]);
}

#[test]
fn a_dialects_marks_within_text_are_text() {
    for answer in [
        "[TOOL_CALLS] comes before calls.",
        "[TOOL_CALLS]add[ARGS] and then JSON",
        "[TOOL_CALLS]\n\n# A heading",
        "[TODO] buy milk",
        "[1, 2, 3]",
        "See [TOOL] and [1].",
        "<|python_tag|>print(1)",
        "<|python_tag|>add(1, 2)",
        "<|python_tag|>add.call(a=1",
        "<|python_tag|>add.call(a='1\n')",
        "<|python_tag|>(a=1)",
        "<function=add> adds.",
        "<function=add>\n<parameter=a>1</parameter> and so on",
        "<tool_call><function=add>words</function></tool_call>",
        "<tool_call><b>bold</b></tool_call>",
        "`<function=`",
    ] {
        assert_ordinary(answer);
    }
    // A truncated call is not a call.
    for half in
        ["<tool_call><function=add></function>", "[TOOL_CALLS]add[ARGS]{\"a\":1", "<function=add><parameter=a>1"]
    {
        assert_eq!(read_portions(&[half], true), (half.to_owned(), vec![]), "{half}");
    }
}

#[test]
fn a_call_in_pythons_form_that_cannot_be_read_becomes_an_error_for_the_model() {
    let read = |answer: &str| read(answer).1;
    assert_eq!(read("<|python_tag|>add.call(1, 2)<|eom_id|>"), [call("add", "(1, 2)")]);
    assert_eq!(read("<|python_tag|>add.call(a=x)"), [call("add", "(a=x)")]);
    assert_eq!(read("<|python_tag|>search.call(q='x')"), [call("search", r#"{"q":"x"}"#)]);
}

#[test]
fn reasoning_contains_no_calls() {
    let tagged = format!("<tool_call>{{\"name\":\"add\",\"arguments\":{EXACT}}}</tool_call>");
    let reasoning = format!(
        "Let me see. <think>I could write {tagged} or\n```tool\n{{\"tool\":\"add\",\"args\":{{}}}}\n```\n</think>"
    );
    assert_ordinary(&reasoning);
    assert_ordinary(reasoning.strip_suffix("</think>").unwrap());
    assert_eq!(read(&format!("{reasoning}\n{tagged}")), (format!("{reasoning}\n"), vec![call("add", EXACT)]));
}
