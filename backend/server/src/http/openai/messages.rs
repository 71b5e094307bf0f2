//! The messages of a request as the agent's model is told them: the system texts, the history in which every call has its
//! result, and the question that is stored.

use std::collections::HashMap;

use tallybook_llm::{AssistantBlock, ModelMessage, ToolCallRequest, ToolResult, UserPart};

use super::{
    limits::MAX_MESSAGES,
    refusal::Refusal,
    wire::{ChatMessage, Content, ToolCall},
};

/// How the page of `Open WebUI` shows a call of ours in an answer's text, which is none of its words.
const CALL_BEGIN: &str = "<details type=\"tool_calls\"";
const CALL_END: &str = "</details>";

/// What the messages of a request say.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) system: Vec<String>,
    pub(super) history: Vec<ModelMessage>,
    /// The last message of a person.
    pub(super) question: String,
    pub(super) questions: usize,
    /// Whether nobody but persons, and the system, has spoken.
    pub(super) is_first: bool,
}

impl Said {
    /// All that persons said, as one question.
    pub(super) fn questions_in_one(self) -> String {
        let words = self.history.iter().filter_map(|message| match message {
            ModelMessage::User(parts) => Some(UserPart::join_texts(parts)),
            ModelMessage::Assistant(_) | ModelMessage::ToolResults(_) => None,
        });
        words.collect::<Vec<_>>().join("\n\n")
    }
}

/// Reads the messages of a request.
pub(super) fn read(messages: Vec<ChatMessage>) -> Result<Said, Refusal> {
    if messages.len() > MAX_MESSAGES {
        return Err(Refusal::bad("messages", format!("There are too many messages. Send at most {MAX_MESSAGES}.")));
    }
    let mut said = Said { is_first: true, ..Said::default() };
    let mut open = OpenCalls::default();
    let mut is_answer_last = false;
    for (at, message) in messages.into_iter().enumerate() {
        let ChatMessage { role, content, tool_calls, tool_call_id } = message;
        let text = text_of(at, content)?;
        if role != "tool" {
            open.close(&mut said.history)?;
        }
        is_answer_last = role == "assistant";
        match role.as_str() {
            "system" | "developer" => said.system.push(text),
            "user" => {
                said.questions += 1;
                said.history.push(ModelMessage::user_text(&text));
                said.question = text;
            }
            "assistant" => {
                said.is_first = false;
                let calls = tool_calls.unwrap_or_default();
                open.begin(at, &calls);
                said.history.push(ModelMessage::Assistant(blocks(without_shown_calls(&text), calls)));
            }
            "tool" => open.take(at, tool_call_id, text)?,
            _ => {
                let message = format!("The role {role:?} is unknown. Use system, developer, user, assistant or tool.");
                return Err(Refusal::bad(format!("messages[{at}].role"), message));
            }
        }
    }
    open.close(&mut said.history)?;
    if said.question.trim().is_empty() {
        let message = "There is no question. Send at least one message of the role user with words in it.";
        return Err(Refusal::bad("messages", message));
    }
    if is_answer_last {
        let message = "The last message is an answer. Send what is to be answered after it, as the role user.";
        return Err(Refusal::bad("messages", message));
    }
    if !matches!(said.history.first(), Some(ModelMessage::User(_))) {
        // Providers want a person to begin.
        said.history.insert(0, ModelMessage::User(Vec::new()));
    }
    Ok(said)
}

fn text_of(at: usize, content: Option<Content>) -> Result<String, Refusal> {
    let text = match content {
        None => String::new(),
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => {
            let mut texts = Vec::new();
            for (place, part) in parts.into_iter().enumerate() {
                let Some(text) = part.text.filter(|_| part.kind == "text") else {
                    let param = format!("messages[{at}].content[{place}]");
                    let message = format!("A part of the type {:?} cannot be read here. Send text.", part.kind);
                    return Err(Refusal::bad(param, message));
                };
                texts.push(text);
            }
            texts.join("\n\n")
        }
    };
    if text.contains('\0') {
        let message = "The message contains a NUL character. Remove it and send again.";
        return Err(Refusal::bad(format!("messages[{at}].content"), message));
    }
    Ok(text)
}

fn blocks(text: String, calls: Vec<ToolCall>) -> Vec<AssistantBlock> {
    let text = Some(text).filter(|text| !text.is_empty()).map(|text| AssistantBlock::Text { text });
    let calls = calls.into_iter().map(|ToolCall { id, function }| {
        AssistantBlock::ToolCall(ToolCallRequest { id, name: function.name, input_text: function.arguments })
    });
    text.into_iter().chain(calls).collect()
}

/// The calls of the last answer, and their results so far.
#[derive(Default)]
struct OpenCalls {
    /// Where the answer stands.
    at: usize,
    /// Ids and names.
    calls: Vec<(String, String)>,
    results: HashMap<String, ToolResult>,
}

impl OpenCalls {
    fn begin(&mut self, at: usize, calls: &[ToolCall]) {
        self.at = at;
        self.calls = calls.iter().map(|call| (call.id.clone(), call.function.name.clone())).collect();
    }

    fn take(&mut self, at: usize, id: Option<String>, content: String) -> Result<(), Refusal> {
        let id = id.unwrap_or_default();
        let Some((_, name)) = self.calls.iter().find(|(known, _)| *known == id) else {
            let message = format!("The message has the result of {id:?}, but the answer before asks for no such call.");
            return Err(Refusal::bad(format!("messages[{at}].tool_call_id"), message));
        };
        let result = ToolResult { call_id: id.clone(), tool_name: name.clone(), content, is_error: false };
        self.results.insert(id, result);
        Ok(())
    }

    /// Tells the results, when there are all of them.
    fn close(&mut self, history: &mut Vec<ModelMessage>) -> Result<(), Refusal> {
        let Self { at, calls, results } = std::mem::take(self);
        let mut told = Vec::new();
        let mut results = results;
        for (id, _) in calls {
            let Some(result) = results.remove(&id) else {
                let message =
                    format!("The result of the call {id:?} is missing. Send a message of the role tool with it.");
                return Err(Refusal::bad(format!("messages[{at}].tool_calls"), message));
            };
            told.push(result);
        }
        if !told.is_empty() {
            history.push(ModelMessage::ToolResults(told));
        }
        Ok(())
    }
}

/// An answer's text without the calls that were shown in it.
fn without_shown_calls(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find(CALL_BEGIN) {
        let Some(length) = rest[begin..].find(CALL_END) else { break };
        kept.push_str(&rest[..begin]);
        rest = rest[begin + length + CALL_END.len()..].trim_start_matches('\n');
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use tallybook_llm::ModelMessage;

    use super::{super::wire, read, without_shown_calls};

    fn history(messages: &str) -> Result<Vec<ModelMessage>, (String, String)> {
        let request = wire::read(&format!(r#"{{"messages":{messages}}}"#));
        let said = request.and_then(|request| read(request.messages));
        said.map(|said| said.history).map_err(|refusal| (refusal.param.unwrap_or_default(), refusal.message))
    }

    #[test]
    fn calls_that_were_shown_in_an_answer_are_none_of_its_words() {
        let shown = "<details type=\"tool_calls\" done=\"true\" id=\"1\">\n<summary>Tool</summary>\n</details>\n";
        assert_eq!(without_shown_calls(&format!("One.\n{shown}Two.{shown}{shown}")), "One.\nTwo.");
        for kept in ["<details>\nmine\n</details>", "<details type=\"tool_calls\" without end", "</details>", ""] {
            assert_eq!(without_shown_calls(kept), kept);
        }
    }

    #[test]
    fn a_program_may_tell_of_its_own_calls_when_each_has_its_result() {
        let user = r#"{"role":"user","content":"q"}"#;
        let call =
            |id: &str| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#);
        let asks = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{},{}]}}"#, call("a"), call("b"));
        let result = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{id}!"}}"#);
        let whole = history(&format!("[{user},{asks},{},{}]", result("b"), result("a"))).unwrap();
        let [_, ModelMessage::Assistant(blocks), ModelMessage::ToolResults(results)] = &whole[..] else {
            panic!("{whole:?}")
        };
        assert_eq!(blocks.len(), 2);
        let results: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
        assert_eq!(results, ["a!", "b!"], "in the order of the calls");
        let missing = history(&format!("[{user},{asks},{},{user}]", result("a"))).unwrap_err();
        assert!(missing.0 == "messages[1].tool_calls" && missing.1.contains("\"b\" is missing"), "{missing:?}");
        let stray = history(&format!("[{user},{}]", result("x"))).unwrap_err();
        assert_eq!(stray.0, "messages[1].tool_call_id");
    }

    #[test]
    fn what_no_model_could_be_told_is_refused_by_its_place() {
        for (messages, param) in [
            ("[]", "messages"),
            (r#"[{"role":"system","content":"s"}]"#, "messages"),
            (r#"[{"role":"user","content":" "}]"#, "messages"),
            (r#"[{"role":"user","content":"a\u0000b"}]"#, "messages[0].content"),
            (r#"[{"role":"wizard","content":"x"}]"#, "messages[0].role"),
            (r#"[{"content":"x"}]"#, "messages[0]"),
            (r#"[{"role":"user","content":7}]"#, "messages[0].content"),
            (
                r#"[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url"}]}]"#,
                "messages[0].content[1]",
            ),
            (r#"[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]"#, "messages"),
        ] {
            assert_eq!(history(messages).unwrap_err().0, param, "{messages}");
        }
    }
}
