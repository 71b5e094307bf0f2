//! One conversation with every provider and in every tool mode: a reader cannot see which provider and mode it was.

use tallybook_llm::{ModelSettings, ToolMode};
use tallybook_mock_llm::{MockLlm, Part, text, tool_call};
use tallybook_protocol::{ChatEvent, Conversation, Role, ToolCall};

use crate::support::{Engine, Provider, TestApp, names, on_every_engine};

/// One step of the model: its text, and its calls as name and arguments.
type Step = (&'static str, &'static [(&'static str, &'static str)]);

/// Two turns: one with three steps and three calls, one of which fails, and one that adds to its result.
const TURNS: [(&str, &[Step]); 2] = [
    (
        "What is (0.1 + 0.2) × 4, and 1 / 0?",
        &[
            ("Let me work that out.\n\n", &[("add", r#"{"a": 0.10, "b": "0.2"}"#), ("divide", r#"{"a":1,"b":0}"#)]),
            ("Now the product. 数\n\n", &[("multiply", r#"{"b":4.0000000000000000000000000000001,"a":0.3}"#)]),
            ("It is about 1.2:\n\n```json\n{\"name\": \"Bob\", \"age\": 3}\n```\nOne cannot divide by zero.", &[]),
        ],
    ),
    ("And twice that?", &[("", &[("add", r#"{"a":1.2,"b":1.2}"#)]), ("2.4.", &[])]),
];

/// The conversation, as clients and admins see it.
#[derive(Debug, PartialEq)]
struct Seen {
    events: Vec<Vec<&'static str>>,
    contents: Vec<String>,
    stop_reasons: Vec<Option<String>>,
    calls: Vec<SeenCall>,
    stored: Vec<(String, Vec<SeenCall>)>,
}

/// Name, input, output, error, offset in the text.
type SeenCall = (String, String, Option<String>, Option<String>, i64);

fn native(step: &Step) -> Vec<Part> {
    let words = Some(step.0).filter(|words| !words.is_empty()).map(text);
    words.into_iter().chain(step.1.iter().map(|(name, input)| tool_call(*name, *input))).collect()
}

fn prompted_reply(step: &Step) -> Vec<Part> {
    let calls =
        step.1.iter().map(|(name, input)| format!("```tool\n{{\"tool\": \"{name}\", \"args\": {input}}}\n```\n"));
    vec![text(format!("{}{}", step.0, calls.collect::<String>()))]
}

/// Runs the conversation with these settings. Returns it as clients and admins see it.
async fn play(engine: &Engine, settings: ModelSettings, model: &MockLlm, parts: fn(&Step) -> Vec<Part>) -> Seen {
    let app = TestApp::builder(engine).with_model(settings).spawn().await;
    let conversation = app.create_conversation().await;
    let mut seen = Seen { events: vec![], contents: vec![], stop_reasons: vec![], calls: vec![], stored: vec![] };
    for (question, steps) in TURNS {
        for step in steps {
            model.reply(parts(step));
        }
        let events = app.send(&conversation, question).await.all().await;
        let mut names = names(&events);
        // Two calls run in parallel, so their ends may come in either order, and the first end may come before the
        // second start.
        names.chunk_by_mut(|a, b| a.starts_with("tool") && b.starts_with("tool")).for_each(<[_]>::sort_unstable);
        seen.events.push(names);
        let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{events:?}") };
        seen.contents.push(end.content.clone());
        seen.stop_reasons.push(end.stop_reason.clone());
        seen.calls.extend(end.tool_calls.iter().map(seen_call));
    }
    let shown = app.get(&format!("/api/conversations/{conversation}")).await.text().await.unwrap();
    let shown: Conversation = serde_json::from_str(&shown).unwrap();
    let answers = shown.messages.into_iter().filter(|message| message.role == Role::Assistant);
    let stored = answers.map(|answer| (answer.content, answer.tool_calls.iter().map(seen_call).collect()));
    seen.stored = stored.collect();
    model.assert_calls_paired();
    assert_eq!(model.unused_replies(), 0);
    app.shut_down().await;
    seen
}

fn seen_call(call: &ToolCall) -> SeenCall {
    let ToolCall { tool_name, input, output, error, offset, .. } = call.clone();
    (tool_name, input.as_str().to_owned(), output, error, offset)
}

/// Checks that in prompt-based mode every result follows its call, and that only the prompt describes the tools.
fn assert_prompted(model: &MockLlm) {
    for request in model.requests() {
        assert!(request.body.get("tools").is_none(), "{}", request.body_text);
        assert!(request.body_text.contains("## multiply"), "{}", request.body_text);
        let messages = request.body["messages"].as_array().unwrap();
        let said: Vec<(&str, String)> = messages
            .iter()
            .filter(|message| message["role"] != "system")
            .map(|message| (message["role"].as_str().unwrap(), message["content"].to_string()))
            .collect();
        for pair in said.windows(2) {
            let [(role, words), (next_role, answer)] = pair else { unreachable!() };
            assert_ne!(role, next_role);
            assert_eq!(
                words.matches("```tool\\n").count(),
                answer.matches("```tool_result\\n").count(),
                "{words}\n{answer}"
            );
        }
    }
    let last = model.requests().pop().unwrap().body_text;
    assert_eq!(last.matches("```tool_result\\\\n").count().max(last.matches("```tool_result\\n").count()), 4, "{last}");
    assert!(last.contains("4.0000000000000000000000000000001"), "{last}");
}

on_every_engine! {
    async fn every_provider_and_tool_mode_produces_the_same_conversation(engine: Engine) {
        for provider in Provider::ALL {
            for tool_mode in [ToolMode::Native, ToolMode::Auto, ToolMode::Prompt] {
                let model = MockLlm::start().await.unwrap();
                let settings = ModelSettings { tool_mode, ..provider.settings(model.url()) };
                let prompted = tool_mode == ToolMode::Prompt;
                let seen = play(&engine, settings, &model, if prompted { prompted_reply } else { native }).await;
                if prompted {
                    assert_prompted(&model);
                }
                assert_eq!(seen, expected(), "{provider:?} {tool_mode:?}");
            }
        }
    }

    /// If a server rejects native tools, the request is sent again without them, and the client notices nothing.
    async fn a_server_without_native_tools_gets_prompted_ones(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        model.fail(400, r#"{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools"}}"#);
        let seen = play(&engine, Provider::OpenAi.settings(model.url()), &model, prompted_reply).await;
        assert_eq!(seen, expected());
        let with_tools = model.requests().iter().filter(|request| request.body.get("tools").is_some()).count();
        assert_eq!(with_tools, 1);
    }
}

/// Returns the conversation as every provider and mode must produce it.
fn expected() -> Seen {
    let call = |name: &str, input: &str, output: Result<&str, &str>, offset: i64| -> SeenCall {
        let (output, error) = (output.ok().map(str::to_owned), output.err().map(str::to_owned));
        (name.to_owned(), input.to_owned(), output, error, offset)
    };
    let first = vec![
        call("add", r#"{"a": 0.10, "b": "0.2"}"#, Ok("0.3"), 23),
        call("divide", r#"{"a":1,"b":0}"#, Err("invalid_b: division by zero"), 23),
        call(
            "multiply",
            r#"{"b":4.0000000000000000000000000000001,"a":0.3}"#,
            Ok("1.20000000000000000000000000000003"),
            45,
        ),
    ];
    let second = vec![call("add", r#"{"a":1.2,"b":1.2}"#, Ok("2.4"), 0)];
    let contents: Vec<String> = TURNS.iter().map(|(_, steps)| steps.iter().map(|step| step.0).collect()).collect();
    let two_calls = ["tool_call_end", "tool_call_end", "tool_call_start", "tool_call_start"];
    let one_call = ["tool_call_end", "tool_call_start"];
    let words = ["content_delta"];
    Seen {
        events: vec![
            [&["message_start"][..], &words, &two_calls, &words, &one_call, &words, &["message_end"]].concat(),
            [&["message_start"][..], &one_call, &words, &["message_end"]].concat(),
        ],
        stored: contents.iter().cloned().zip([first.clone(), second.clone()]).collect(),
        contents,
        stop_reasons: vec![Some("end_turn".to_owned()); 2],
        calls: [first, second].concat(),
    }
}
