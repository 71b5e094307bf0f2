//! Parses the input of a Responses API request: a question, or the items of a history.

use serde::Deserialize;
use serde_json::value::RawValue;
use tallybook_llm::ToolCallRequest;
use utoipa::ToSchema;

use super::super::conversation::{ConversationParser, ParsedConversation, text_of};
use crate::http::openai::{
    error::Refusal,
    request::{Content, ContentPart, MAX_MESSAGES, parse_part},
};

/// An entry of the history. Which fields it has depends on its type.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ResponseInputItem)]
pub(crate) struct InputItem {
    /// Absent: a message.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) content: Option<Content>,
    pub(crate) call_id: Option<String>,
    pub(crate) name: Option<String>,
    /// Namespace of the function, if it has one.
    pub(crate) namespace: Option<String>,
    /// Arguments of a call, as JSON text.
    pub(crate) arguments: Option<String>,
    pub(crate) output: Option<Content>,
}

/// Types of content parts that are text.
const TEXTS: [&str; 3] = ["input_text", "output_text", "text"];

/// Types of content parts that are text in an assistant's message.
const ASSISTANT_TEXTS: [&str; 4] = ["input_text", "output_text", "text", ContentPart::REFUSAL];

/// Parses an input. If the request has a previous response (`has_previous`), the input may begin with the results of
/// that response's calls.
pub(crate) fn read(input: &RawValue, has_previous: bool) -> Result<ParsedConversation, Refusal> {
    let mut parser = ConversationParser::new("input", has_previous);
    if input.get().starts_with('"') {
        let text: String = parse_part(input.get(), "input")?;
        parser.user("input", Some(Content::Text(text)), &TEXTS)?;
        return parser.end();
    }
    let items: Vec<InputItem> = parse_part(input.get(), "input")?;
    if items.len() > MAX_MESSAGES {
        return Err(Refusal::bad("input", format!("There are too many items. Send at most {MAX_MESSAGES}.")));
    }
    let mut step = Step::default();
    for (at, item) in items.into_iter().enumerate() {
        match item.kind.as_deref().unwrap_or("message") {
            "message" => message(at, item, &mut step, &mut parser)?,
            "function_call" => {
                let call = call(at, item)?;
                if step.is_over(&call) {
                    step.append_to(&mut parser)?;
                }
                step.begin(at);
                step.calls.push(call);
            }
            "function_call_output" => {
                let text = output_of(at, item.output)?;
                step.results.push((format!("input[{at}].call_id"), item.call_id.unwrap_or_default(), text));
            }
            // Another model's reasoning is useless to Tallybook's model.
            "reasoning" => {}
            kind => {
                let message = format!(
                    "An item of the type {kind:?} cannot be read here. Send messages, and calls of functions with their \
                     results."
                );
                return Err(Refusal::bad(format!("input[{at}].type"), message));
            }
        }
    }
    step.append_to(&mut parser)?;
    parser.end()
}

fn message(at: usize, item: InputItem, step: &mut Step, parser: &mut ConversationParser) -> Result<(), Refusal> {
    let role = item.role.unwrap_or_default();
    let kinds: &[&str] = if role == "assistant" { &ASSISTANT_TEXTS } else { &TEXTS };
    let place = format!("input[{at}].content");
    if role == "user" {
        step.append_to(parser)?;
        return parser.user(&place, item.content, kinds);
    }
    let text = text_of(&place, item.content, kinds)?;
    if role == "assistant" {
        if !step.results.is_empty() {
            step.append_to(parser)?;
        }
        step.begin(at);
        step.texts.push(text);
        return Ok(());
    }
    step.append_to(parser)?;
    match role.as_str() {
        "system" | "developer" => parser.system(text),
        _ => {
            let message = format!("The role {role:?} is unknown. Use user, assistant, system or developer.");
            Err(Refusal::bad(format!("input[{at}].role"), message))
        }
    }
}

fn call(at: usize, item: InputItem) -> Result<ToolCallRequest, Refusal> {
    let InputItem { call_id: Some(id), name: Some(name), namespace, arguments: Some(input_text), .. } = item else {
        let message = "A call has a call_id, a name, and its arguments as a text.";
        return Err(Refusal::bad(format!("input[{at}]"), message));
    };
    let name = namespace.map_or(name.clone(), |namespace| full_name(&namespace, &name));
    Ok(ToolCallRequest { id, name, input_text, written_by: None })
}

/// Returns the name that the model receives for a function in a namespace.
pub(crate) fn full_name(namespace: &str, name: &str) -> String {
    format!("{namespace}__{name}")
}

/// Returns the result of a call as text. A note replaces each part that is not text, so that a picture in a result does
/// not make the request fail.
fn output_of(at: usize, output: Option<Content>) -> Result<String, Refusal> {
    let readable = match output {
        Some(Content::Parts(parts)) => {
            let texts = parts.into_iter().map(|part| {
                let unreadable = format!("[What the call gave as {} cannot be read here.]", part.kind);
                part.text.filter(|_| TEXTS.contains(&part.kind.as_str())).unwrap_or(unreadable)
            });
            Some(Content::Text(texts.collect::<Vec<_>>().join("\n\n")))
        }
        text => text,
    };
    text_of(&format!("input[{at}].output"), readable, &TEXTS)
}

/// One step of a model, which consists of several items: its texts, its calls, and their results.
#[derive(Default)]
struct Step {
    /// Index of the step's first item.
    at: Option<usize>,
    texts: Vec<String>,
    calls: Vec<ToolCallRequest>,
    /// The parameter that contains each result, the id of its call, and its text.
    results: Vec<(String, String, String)>,
}

impl Step {
    fn begin(&mut self, at: usize) {
        self.at.get_or_insert(at);
    }

    /// Returns `true` if this call belongs to another step. Some clients send each call followed by its result, even if
    /// the model asked for several calls at once. Calls that Tallybook asked for have their step in the id.
    fn is_over(&self, call: &ToolCallRequest) -> bool {
        let step_of = |id: &str| id.starts_with("tb_").then(|| id.rsplit_once('_').map(|(step, _)| step.to_owned()));
        let same = self.calls.last().is_some_and(|last| {
            step_of(&last.id).flatten().is_some_and(|step| step_of(&call.id).flatten() == Some(step))
        });
        !self.results.is_empty() && !same
    }

    /// Adds the step as an assistant's message, and then the results.
    fn append_to(&mut self, parser: &mut ConversationParser) -> Result<(), Refusal> {
        let Self { at, texts, calls, results } = std::mem::take(self);
        if let Some(at) = at {
            parser.answer(format!("input[{at}]"), &texts.join("\n\n"), calls)?;
        }
        for (place, id, text) in results {
            parser.result(place, id, text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json, value::to_raw_value};
    use tallybook_llm::{AssistantBlock, ModelMessage};
    use tallybook_protocol::MessagePart;

    use super::{ParsedConversation, read};

    fn parsed(input: &Value, has_previous: bool) -> Result<ParsedConversation, String> {
        read(&to_raw_value(input).unwrap(), has_previous).map_err(|refusal| refusal.param.unwrap_or_default())
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    fn call(id: &str) -> Value {
        json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": "f", "arguments": "{}", "status": "completed"})
    }

    fn output(id: &str) -> Value {
        json!({"type": "function_call_output", "call_id": id, "output": format!("{id}!")})
    }

    /// Returns the shape of a history: `u` is a user message, `a` an answer with its number of calls, `r` a number of
    /// results.
    fn shape(parsed: &ParsedConversation) -> String {
        let shape = parsed.input.messages.iter().map(|message| match message {
            ModelMessage::User(_) => "u".to_owned(),
            ModelMessage::Assistant(blocks) => {
                format!("a{}", blocks.iter().filter(|block| block.tool_call().is_some()).count())
            }
            ModelMessage::ToolResults(results) => format!("r{}", results.len()),
        });
        shape.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn items_become_steps_of_text_calls_and_results() {
        let text = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Wait.", "annotations": []}]});
        let thought =
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x", "content": null});
        let later = user("Well?");
        for (items, expected) in [
            (json!([user("q")]), "u"),
            (json!([user("a"), user("b")]), "u u"),
            (json!([user("q"), text, later]), "u a0 u"),
            (json!([user("q"), thought, text, call("a"), call("b"), output("b"), output("a")]), "u a2 r2"),
            (json!([user("q"), call("a"), output("a"), call("b"), output("b")]), "u a1 r1 a1 r1"),
            (json!([user("q"), call("tb_1_0_0"), output("tb_1_0_0"), call("tb_1_0_1"), output("tb_1_0_1")]), "u a2 r2"),
            (
                json!([user("q"), call("tb_1_0_0"), output("tb_1_0_0"), call("tb_2_0_0"), output("tb_2_0_0")]),
                "u a1 r1 a1 r1",
            ),
            (json!([user("q"), call("a"), output("a"), text, later]), "u a1 r1 a0 u"),
            (json!([text, later]), "u a0 u"),
        ] {
            assert_eq!(shape(&parsed(&items, false).unwrap()), expected, "{items}");
        }
        let alone = parsed(&json!("q"), false).unwrap();
        assert_eq!(
            (shape(&alone), MessagePart::join_texts(&alone.question), alone.is_first),
            ("u".into(), "q".into(), true)
        );
    }

    #[test]
    fn a_continued_request_may_begin_with_results_of_calls() {
        let developer = json!({"role": "developer", "content": "Be brief."});
        for (items, expected) in [
            (json!([output("tb_1_0_0"), output("tb_1_0_1")]), "r2"),
            (json!([developer, output("tb_1_0_0")]), "r1"),
            (json!([output("tb_1_0_0"), user("And?")]), "r1 u"),
            (json!([user("And?")]), "u"),
        ] {
            let conversation = parsed(&items, true).unwrap();
            assert_eq!(shape(&conversation), expected, "{items}");
            assert!(!conversation.is_first);
        }
        assert_eq!(parsed(&json!([developer]), true).unwrap_err(), "input");
        assert_eq!(parsed(&json!([user("q"), output("a")]), true).unwrap_err(), "input[1].call_id");
    }

    #[test]
    fn unsupported_content_is_refused_with_its_position() {
        let image = json!({"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_image"}]});
        for (input, param) in [
            (json!(""), "input"),
            (json!([]), "input"),
            (json!({}), "input"),
            (json!(7), "input"),
            (json!("a\u{0}b"), "input"),
            (json!([user(" ")]), "input"),
            (json!([7]), "input[0]"),
            (json!([{"role": "user", "content": 7}]), "input[0].content"),
            (json!([{"role": "wizard", "content": "x"}]), "input[0].role"),
            (json!([{"content": "x"}]), "input[0].role"),
            (json!([image]), "input[0].content[1]"),
            (json!([user("q"), {"type": "item_reference", "id": "msg_1"}]), "input[1].type"),
            (json!([user("q"), {"type": "function_call", "name": "f"}]), "input[1]"),
            (json!([user("q"), call("a")]), "input[1]"),
            (json!([user("q"), call("a"), call("b"), output("a"), user("r")]), "input[1]"),
            (json!([user("q"), output("a")]), "input[1].call_id"),
            (json!([user("q"), {"role": "assistant", "content": "x"}]), "input"),
        ] {
            assert_eq!(parsed(&input, false).unwrap_err(), param, "{input}");
        }
    }

    #[test]
    fn a_refusal_is_the_assistants_text() {
        let refusal = json!({"type": "refusal", "refusal": "I decline."});
        for (parts, expected) in [
            (json!([refusal]), "I decline."),
            (json!([{"type": "output_text", "text": "Well."}, refusal]), "Well.\n\nI decline."),
        ] {
            let items = json!([user("q"), {"type": "message", "role": "assistant", "content": parts}, user("And?")]);
            let conversation = parsed(&items, false).unwrap();
            let ModelMessage::Assistant(blocks) = &conversation.input.messages[1] else { panic!("{conversation:?}") };
            let [AssistantBlock::Text { text }] = &blocks[..] else { panic!("{blocks:?}") };
            assert_eq!(text, expected);
        }
        let by_user = json!([{"role": "user", "content": [refusal]}]);
        assert_eq!(parsed(&by_user, false).unwrap_err(), "input[0].content[0]");
        let empty = json!([user("q"), {"role": "assistant", "content": [{"type": "refusal"}]}, user("r")]);
        assert_eq!(parsed(&empty, false).unwrap_err(), "input[1].content[0]");
    }

    #[test]
    fn an_image_result_is_described_in_text() {
        let parts = json!([{"type": "input_text", "text": "Here:"}, {"type": "input_image", "image_url": "data:"}]);
        let given = json!({"type": "function_call_output", "call_id": "a", "output": parts});
        let conversation = parsed(&json!([user("q"), call("a"), given]), false).unwrap();
        let Some(ModelMessage::ToolResults(results)) = conversation.input.messages.last() else {
            panic!("{conversation:?}")
        };
        assert_eq!(results[0].content, "Here:\n\n[What the call gave as input_image cannot be read here.]");
    }
}
