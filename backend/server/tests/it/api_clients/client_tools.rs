//! Tools that an API client runs itself, beside the server's tools: how turns continue with the client's results. What
//! clients can request, and what is refused, is in `client_tools/requests`.

mod requests;

use serde_json::{Value, json};
use tallybook_agent::Limits;
use tallybook_mock_llm::{MockLlm, text, thinking, tool_call};
use tallybook_tools::ToolRegistry;

use super::kit::{ChunkReader, Orders, ask, conversation_of, conversations, refusal};
use crate::support::{Counts, Engine, Provider, TestApp, eventually, on_every_engine, rows};

/// Returns the client's tools.
fn offered() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!([
        {"type": "function", "function": {"name": "look", "description": "Looks outside.", "parameters": parameters}},
        {"type": "function", "function": {"name": "listen"}},
    ])
}

fn user(words: &str) -> Value {
    json!({"role": "user", "content": words})
}

fn body(messages: &[Value]) -> Value {
    json!({"model": "test-model", "messages": messages, "tools": offered()})
}

fn result(id: &Value, content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": content})
}

/// Asks, and requires an answer that ends with client tool calls. Returns the conversation, the answer's message, and
/// the ids of the calls.
async fn handed_over(app: &TestApp, body: &Value) -> (String, Value, Vec<Value>) {
    let response = ask(app, &[], body).await;
    let uuid = conversation_of(&response);
    let answer: Value = response.json().await.unwrap();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{answer}");
    let ids = choice["message"]["tool_calls"].as_array().unwrap().iter().map(|call| call["id"].clone()).collect();
    (uuid, choice["message"].clone(), ids)
}

async fn server(engine: &Engine, model: &MockLlm, counts: &Counts) -> TestApp {
    let tools = ToolRegistry::default().with(counts.clone()).unwrap();
    TestApp::builder(engine).with_mock(model).with_tools(tools).with_settings(|_| {}).spawn().await
}

/// Returns the messages of the model's last request.
fn prompt_messages(model: &MockLlm) -> Value {
    model.requests().last().unwrap().body["messages"].clone()
}

on_every_engine! {
    /// A step with both kinds of calls: the server runs its own, which are in the tool history, and sends the client
    /// its calls. With the client's results, the model receives all steps, including the reasoning. The conversation is
    /// stored as one question with a second answer.
    async fn a_step_with_both_kinds_of_calls_continues_with_the_clients_results(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let counts = Counts::default();
        let app = server(&engine, &model, &counts).await;
        model.reply([text("First."), tool_call("counts", "{}")]);
        model.reply([
            thinking("hm", "signed"), text("Now both."),
            tool_call("look", r#"{"city":"雨"}"#), tool_call("counts", "{}"), tool_call("listen", "{}"),
        ]);
        let asked = [user("What is it like?")];
        let (uuid, message, ids) = handed_over(&app, &body(&asked)).await;
        assert_eq!(message["content"], "First.\n\nNow both.");
        assert_eq!(message["tool_calls"][0]["function"], json!({"name": "look", "arguments": r#"{"city":"雨"}"#}));
        let first = app.conversation(&uuid).await["messages"][1].clone();
        let turn = &first["id"];
        assert_eq!(ids, [json!(format!("tb_{turn}_1_0")), json!(format!("tb_{turn}_1_2"))]);
        assert_eq!((&first["status"], &first["stop_reason"]), (&json!("complete"), &json!("client_calls")));
        assert_eq!(first["tool_calls"].as_array().unwrap().len(), 2, "the tool history has only the server's calls");
        assert_eq!(counts.runs(), 2);
        let names = model.requests()[0].body["tools"].clone();
        let names: Vec<&str> = names.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["counts", "listen", "look"]);

        // The results can come in any order.
        let sent = [asked[0].clone(), message, result(&ids[1], "a bird"), result(&ids[0], "rain")];
        model.reply([text("It rains on a bird.")]);
        let response = ask(&app, &[], &body(&sent)).await;
        assert_eq!(conversation_of(&response), uuid);
        let answer: Value = response.json().await.unwrap();
        assert_eq!(answer["choices"][0]["message"]["content"], "It rains on a bird.");
        assert_eq!(counts.runs(), 2, "no call runs twice");
        let messages = prompt_messages(&model);
        let steps = messages.as_array().unwrap();
        assert_eq!(steps.len(), 5, "{messages}");
        assert_eq!(steps[1]["content"][0]["text"], "First.");
        assert_eq!(steps[3]["content"][0]["thinking"], "hm");
        let results: Vec<&str> =
            steps[4]["content"].as_array().unwrap().iter().map(|part| part["content"].as_str().unwrap()).collect();
        assert_eq!(results, ["rain", r#"{"result":"2","success":true}"#, "a bird"]);
        let stored = app.conversation(&uuid).await;
        assert_eq!(stored["messages"].as_array().unwrap().len(), 2);
        assert_eq!(stored["messages"][1]["content"], "It rains on a bird.");
        assert_eq!(stored["messages"][1]["siblings"], json!([turn, stored["messages"][1]["id"]]));

        // For the next question, the model receives the steps of the earlier turn, but not its reasoning.
        let mut later = sent.to_vec();
        later.extend([json!({"role": "assistant", "content": "It rains on a bird."}), user("And now?")]);
        model.reply([text("Still.")]);
        let next = ask(&app, &[("X-Tallybook-Conversation", &uuid)], &body(&later)).await;
        assert_eq!(conversation_of(&next), uuid);
        next.text().await.unwrap();
        let messages = prompt_messages(&model).to_string();
        assert!(messages.contains("First.") && messages.contains("a bird") && !messages.contains("signed"), "{messages}");
        assert_eq!(app.conversation(&uuid).await["messages"].as_array().unwrap().len(), 4);
        model.assert_calls_paired();
    }

    async fn results_are_accepted_after_a_restart(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let counts = Counts::default();
        let app = server(&engine, &model, &counts).await;
        model.reply([tool_call("counts", "{}"), tool_call("look", "{}")]);
        let (uuid, message, ids) = handed_over(&app, &body(&[user("Well?")])).await;
        assert_eq!(message["content"], Value::Null);
        app.shut_down().await;
        let app = server(&engine, &model, &counts).await;
        model.reply([tool_call("listen", "{}")]);
        let mut sent = vec![user("Well?"), message, result(&ids[0], "rain")];
        let (same, message, ids) = handed_over(&app, &body(&sent)).await;
        assert_eq!(same, uuid);
        // A second round of client calls, in another turn.
        sent.extend([message, result(&ids[0], "birds")]);
        model.reply([text("Rain and birds.")]);
        let response = ask(&app, &[], &body(&sent)).await;
        assert_eq!(conversation_of(&response), uuid);
        response.text().await.unwrap();
        let messages = prompt_messages(&model).to_string();
        for words in ["rain", "birds", r#"{\"result\":\"1\",\"success\":true}"#] {
            assert!(messages.contains(words), "{words}: {messages}");
        }
        assert_eq!(counts.runs(), 1);
        model.assert_calls_paired();
    }

    /// If the client missed the answer and sends the results again, it gets another answer. The server's calls do not
    /// run again.
    async fn results_sent_twice_run_no_call_twice(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let counts = Counts::default();
        let app = server(&engine, &model, &counts).await;
        model.reply([tool_call("counts", "{}"), tool_call("look", "{}")]);
        let (uuid, message, ids) = handed_over(&app, &body(&[user("Well?")])).await;
        let sent = [user("Well?"), message, result(&ids[0], "rain")];
        for words in ["It rains.", "It does rain."] {
            model.reply([text(words)]);
            let response = ask(&app, &[], &body(&sent)).await;
            assert_eq!(conversation_of(&response), uuid);
            assert!(response.text().await.unwrap().contains(words));
        }
        assert_eq!(counts.runs(), 1);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM tool_calls"), [(1,)]);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM messages WHERE role = 'user'"), [(1,)]);
        // The same results twice in one request are refused.
        let twice: Vec<Value> = sent.iter().chain(&sent[1..]).cloned().collect();
        let error = refusal(ask(&app, &[], &body(&twice)).await, 400).await;
        assert!(error["message"].as_str().unwrap().contains("twice"), "{error}");
        model.assert_calls_paired();
    }

    async fn a_large_client_result_reaches_the_model_completely(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = server(&engine, &model, &Counts::default()).await;
        model.reply([tool_call("look", "{}")]);
        let (_, message, ids) = handed_over(&app, &body(&[user("Well?")])).await;
        let long = format!("{}end", "\"雨\n".repeat(1024 * 1024 / 5));
        model.reply([text("Long.")]);
        let response = ask(&app, &[], &body(&[user("Well?"), message, result(&ids[0], &long)])).await;
        assert_eq!(response.status(), 200);
        response.text().await.unwrap();
        assert_eq!(prompt_messages(&model)[2]["content"][0]["content"].as_str().unwrap(), long);
    }

    /// If a step has a client call and a server call that needs approval, the client receives its call after the
    /// decision.
    async fn client_calls_are_sent_after_the_decision_on_other_calls(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = ToolRegistry::default().with(Orders).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).with_settings(|_| {}).spawn().await;
        model.reply([tool_call("look", "{}"), tool_call("order", "{}")]);
        let mut asked = body(&[user("Soup?")]);
        asked["stream"] = json!(true);
        let response = ask(&app, &[], &asked).await;
        let uuid = conversation_of(&response);
        let mut stream = ChunkReader::new(response);
        stream.until_text("needs your approval").await;
        let call = app.conversation(&uuid).await["messages"][1]["tool_calls"][0]["tool_call_id"].clone();
        app.post(&format!("/api/tool-calls/{call}/decision"), json!({"decision": "approve"})).await.text().await.unwrap();
        let chunks = stream.all().await;
        let calls: Vec<&Value> = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0]).filter(|it| !it.is_null()).collect();
        assert_eq!(calls[0]["function"]["name"], "look");
        assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
        let message = json!({"role": "assistant", "content": null, "tool_calls": [{
            "id": calls[0]["id"], "type": "function", "function": {"name": "look", "arguments": "{}"}}]});
        model.reply([text("Soup it is.")]);
        let answer = ask(&app, &[], &body(&[user("Soup?"), message, result(&calls[0]["id"], "rain")])).await;
        assert!(answer.text().await.unwrap().contains("Soup it is."));
        assert!(prompt_messages(&model).to_string().contains("ordered"));
        model.assert_calls_paired();
    }
}

/// The turn that the request continues is always restored. Older turns are restored only if they fit in
/// `restored_bytes`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn older_turns_that_do_not_fit_stay_as_the_client_sent_them() {
    let model = MockLlm::start().await.unwrap();
    let tools = ToolRegistry::default().with(Counts::default()).unwrap();
    let limits = Limits { restored_bytes: 0, ..Limits::default() };
    let settings = Provider::Anthropic.settings(model.url());
    let app =
        TestApp::builder(&Engine::sqlite()).with_model(settings).with_tools(tools).with_limits(limits).spawn().await;
    let ours = |number: u32| format!(r#"{{\"result\":\"{number}\",\"success\":true}}"#);
    let mut sent = vec![user("Well?")];
    for weather in ["rain", "snow"] {
        model.reply([tool_call("counts", "{}"), tool_call("look", "{}")]);
        let (_, message, ids) = handed_over(&app, &body(&sent)).await;
        sent.extend([message, result(&ids[0], weather)]);
        model.reply([text("So.")]);
        assert_eq!(ask(&app, &[], &body(&sent)).await.status(), 200);
        sent.extend([json!({"role": "assistant", "content": "So."}), user("And now?")]);
    }
    let messages = prompt_messages(&model).to_string();
    assert!(messages.contains("rain") && messages.contains("snow"), "{messages}");
    assert!(!messages.contains(&ours(1)) && messages.contains(&ours(2)), "{messages}");
    model.assert_calls_paired();
}

/// Calls are streamed as OpenAI does it: first the id and the name, then the arguments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_are_streamed_with_their_index() {
    let model = MockLlm::start().await.unwrap();
    let app = server(&Engine::sqlite(), &model, &Counts::default()).await;
    model.reply([text("Let me see."), tool_call("look", r#"{"city":"x"}"#), tool_call("listen", "{}")]);
    let mut asked = body(&[user("Well?")]);
    (asked["stream"], asked["stream_options"]) = (json!(true), json!({"include_usage": true}));
    let mut stream = ChunkReader::new(ask(&app, &[], &asked).await);
    let chunks = stream.all().await;
    assert_eq!(stream.text, "Let me see.");
    let calls: Vec<&Value> = chunks
        .iter()
        .map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0])
        .filter(|call| !call.is_null())
        .collect();
    assert_eq!(calls.len(), 4);
    for (index, name, arguments) in [(0, "look", r#"{"city":"x"}"#), (1, "listen", "{}")] {
        let [head, rest] = [calls[2 * index], calls[2 * index + 1]];
        assert!(head["id"].as_str().unwrap().starts_with("tb_"), "{head}");
        assert_eq!((&head["index"], &head["type"]), (&json!(index), &json!("function")));
        assert_eq!(head["function"], json!({"name": name, "arguments": ""}));
        assert_eq!(rest, &json!({"index": index, "function": {"arguments": arguments}}));
    }
    let [.., end, usage] = &chunks[..] else { panic!("{chunks:?}") };
    assert_eq!(end["choices"][0]["finish_reason"], "tool_calls");
    assert!(usage["usage"]["total_tokens"].is_u64(), "{usage}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clients_tool_wins_a_name_conflict() {
    let model = MockLlm::start().await.unwrap();
    let counts = Counts::default();
    let app = server(&Engine::sqlite(), &model, &counts).await;
    let own = json!([{"type": "function", "function": {"name": "counts", "description": "Mine."}}]);
    let asked = json!({"messages": [user("Count")], "tools": own});
    model.reply([tool_call("counts", "{}")]);
    let (_, message, _) = handed_over(&app, &asked).await;
    assert_eq!(message["tool_calls"][0]["function"]["name"], "counts");
    assert_eq!(counts.runs(), 0);
    let tools = &model.requests()[0].body["tools"];
    assert_eq!((tools.as_array().unwrap().len(), &tools[0]["description"]), (1, &json!("Mine.")));
}

/// If the conversation is busy, the answer gets a new conversation, like any other answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn results_for_a_busy_conversation_are_answered_in_a_new_one() {
    let model = MockLlm::start().await.unwrap();
    let app = server(&Engine::sqlite(), &model, &Counts::default()).await;
    model.reply([tool_call("look", "{}")]);
    let (uuid, message, ids) = handed_over(&app, &body(&[user("Well?")])).await;
    let gate = model.reply_gated([text("Slow")], [text("ly.")]);
    let mut other = super::kit::streamed("And?");
    other["messages"] = json!([user("And?")]);
    let mut slow = ChunkReader::new(ask(&app, &[("X-Tallybook-Conversation", &uuid)], &other).await);
    slow.until_text("Slow").await;
    model.reply([text("It rains.")]);
    let response = ask(&app, &[], &body(&[user("Well?"), message, result(&ids[0], "rain")])).await;
    assert_ne!(conversation_of(&response), uuid);
    assert!(response.text().await.unwrap().contains("It rains."));
    gate.open();
    slow.all().await;
    eventually("both conversations exist", async || conversations(&app).await.len() == 2).await;
}
