//! Parses the messages of a chat completion request.

use tallybook_llm::ToolCallRequest;

use super::{
    conversation::{ConversationParser, ParsedConversation, text_of},
    limits::MAX_MESSAGES,
    refusal::Refusal,
    wire::{ChatMessage, Content, ContentPart, ToolCall},
};

/// Parses the messages of a request.
pub(crate) fn read(messages: Vec<ChatMessage>) -> Result<ParsedConversation, Refusal> {
    read_numbered(messages.into_iter().enumerate().collect())
}

/// Parses messages that come with their index in the request. Errors name this index.
pub(crate) fn read_numbered(messages: Vec<(usize, ChatMessage)>) -> Result<ParsedConversation, Refusal> {
    if messages.len() > MAX_MESSAGES {
        return Err(Refusal::bad("messages", format!("There are too many messages. Send at most {MAX_MESSAGES}.")));
    }
    let mut telling = ConversationParser::new("messages", false);
    for (at, message) in messages {
        let ChatMessage { role, content, refusal, tool_calls, tool_call_id } = message;
        let kinds: &[&str] = if role == "assistant" { &["text", ContentPart::REFUSAL] } else { &["text"] };
        let text = text_of(&format!("messages[{at}].content"), content, kinds)?;
        match role.as_str() {
            "system" | "developer" => telling.system(text)?,
            "user" => telling.user(text)?,
            "assistant" => {
                let calls = tool_calls.unwrap_or_default().into_iter().map(|ToolCall { id, function }| {
                    ToolCallRequest { id, name: function.name, input_text: function.arguments, written_by: None }
                });
                let refusal = text_of(&format!("messages[{at}].refusal"), refusal.map(Content::Text), &[])?;
                let said = with_refusal(text, &refusal);
                telling.answer(format!("messages[{at}].tool_calls"), &said, calls.collect())?;
            }
            "tool" => {
                telling.result(format!("messages[{at}].tool_call_id"), tool_call_id.unwrap_or_default(), text)?;
            }
            _ => {
                let message = format!("The role {role:?} is unknown. Use system, developer, user, assistant or tool.");
                return Err(Refusal::bad(format!("messages[{at}].role"), message));
            }
        }
    }
    telling.end()
}

/// Returns an assistant's text followed by its refusal, if the message has one.
fn with_refusal(text: String, refusal: &str) -> String {
    match (text.is_empty(), refusal.is_empty()) {
        (_, true) => text,
        (true, false) => refusal.to_owned(),
        (false, false) => format!("{text}\n\n{refusal}"),
    }
}

#[cfg(test)]
mod tests {
    use tallybook_llm::{AssistantBlock, ModelMessage};

    use super::{super::wire, read};

    fn history(messages: &str) -> Result<Vec<ModelMessage>, (String, String)> {
        let request = wire::read(&format!(r#"{{"messages":{messages}}}"#));
        let said = request.and_then(|request| read(request.messages));
        said.map(|said| said.history).map_err(|refusal| (refusal.param.unwrap_or_default(), refusal.message))
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
    fn a_refusal_is_what_the_assistant_said() {
        let user = r#"{"role":"user","content":"q"}"#;
        for (assistant, expected) in [
            (r#"{"role":"assistant","content":null,"refusal":"I decline."}"#, "I decline."),
            (r#"{"role":"assistant","refusal":"I decline."}"#, "I decline."),
            (r#"{"role":"assistant","content":"Well.","refusal":"I decline."}"#, "Well.\n\nI decline."),
            (r#"{"role":"assistant","content":"Well.","refusal":null}"#, "Well."),
            (r#"{"role":"assistant","content":[{"type":"refusal","refusal":"I decline."}]}"#, "I decline."),
            (
                r#"{"role":"assistant","content":[{"type":"text","text":"Well."},{"type":"refusal","refusal":"No."}]}"#,
                "Well.\n\nNo.",
            ),
        ] {
            let told = history(&format!("[{user},{assistant},{user}]")).unwrap();
            let ModelMessage::Assistant(blocks) = &told[1] else { panic!("{told:?}") };
            let [AssistantBlock::Text { text }] = &blocks[..] else { panic!("{blocks:?}") };
            assert_eq!(text, expected);
        }
        let by_user = history(r#"[{"role":"user","content":[{"type":"refusal","refusal":"No."}]}]"#).unwrap_err();
        assert_eq!(by_user.0, "messages[0].content[0]");
        let nul = format!(r#"[{user},{{"role":"assistant","refusal":"a\u0000b"}},{user}]"#);
        assert_eq!(history(&nul).unwrap_err().0, "messages[1].refusal");
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
