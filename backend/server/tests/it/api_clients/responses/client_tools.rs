//! Client tools in the Responses API: the client sends only the results, or the complete history.

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_tools::ToolRegistry;

use super::{
    super::kit::refusal,
    kit::{ask, asked, call_ids, offered, output, whole, words},
};
use crate::support::{Counts, Engine, TestApp, on_every_engine, rows};

async fn server(engine: &Engine, model: &MockLlm, counts: &Counts) -> TestApp {
    let tools = ToolRegistry::default().with(counts.clone()).unwrap();
    TestApp::builder(engine).with_mock(model).with_tools(tools).with_settings(|_| {}).spawn().await
}

/// Returns a request with the client's tools.
fn offering(input: impl Into<Value>) -> Value {
    asked(input, &json!({"tools": offered()}))
}

/// Returns a request with the client's tools that continues a response.
fn after(answer: &Value, input: impl Into<Value>) -> Value {
    asked(input, &json!({"tools": offered(), "previous_response_id": answer["id"]}))
}

/// Returns the messages of the model's last request.
fn prompt_messages(model: &MockLlm) -> String {
    model.requests().last().unwrap().body["messages"].to_string()
}

const OURS: &str = r#"{\"result\":\"1\",\"success\":true}"#;

on_every_engine! {
    /// Two rounds, with a restart between them. Each request contains only the new results, the model receives all
    /// steps, and no server call runs again.
    async fn results_alone_continue_a_response(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let counts = Counts::default();
        let app = server(&engine, &model, &counts).await;
        model.reply([text("Both."), tool_call("look", r#"{"city":"雨"}"#), tool_call("counts", "{}"), tool_call("listen", "{}")]);
        let (first, uuid) = whole(&app, &offering("What is it like?")).await;
        assert_eq!(words(&first), "Both.");
        let turn = app.conversation(&uuid).await["messages"][1]["id"].clone();
        assert_eq!(first["output"][1], json!({
            "type": "function_call", "id": format!("fc_tb_{turn}_0_0"), "call_id": format!("tb_{turn}_0_0"), "name": "look",
            "arguments": r#"{"city":"雨"}"#, "status": "completed",
        }));
        assert_eq!(first["status"], "completed");
        app.shut_down().await;

        let app = server(&engine, &model, &counts).await;
        let ids = call_ids(&first);
        model.reply([tool_call("listen", "{}")]);
        // The results can come in any order.
        let (second, same) = whole(&app, &after(&first, json!([output(&ids[1], "a bird"), output(&ids[0], "rain")]))).await;
        assert_eq!((&same, second["output"].as_array().unwrap().len()), (&uuid, 1), "{second}");
        model.reply([text("It rains on two birds.")]);
        let (third, same) = whole(&app, &after(&second, json!([output(&call_ids(&second)[0], "two birds")]))).await;
        assert_eq!((&same, words(&third)), (&uuid, "It rains on two birds."));
        let messages = prompt_messages(&model);
        for said in ["What is it like?", "Both.", OURS, "rain", "a bird", "two birds"] {
            assert!(messages.contains(said), "{said}: {messages}");
        }
        // The context of the next question contains all of it.
        model.reply([text("Still.")]);
        let (_, same) = whole(&app, &after(&third, "And now?")).await;
        assert_eq!(same, uuid);
        let messages = prompt_messages(&model);
        for said in ["Both.", OURS, "two birds", "It rains on two birds.", "And now?"] {
            assert!(messages.contains(said), "{said}: {messages}");
        }
        assert_eq!(counts.runs(), 1, "no call runs twice");
        let stored = app.conversation(&uuid).await;
        let contents: Vec<&str> =
            stored["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(contents, ["What is it like?", "It rains on two birds.", "And now?", "Still."]);
        assert_eq!(stored["messages"][1]["siblings"].as_array().unwrap().len(), 3);
        let found = app.get_json(&format!("/v1/responses/{}", first["id"].as_str().unwrap())).await;
        assert_eq!(found["output"], first["output"]);
        model.assert_calls_paired();
    }

    /// Like Codex, the client stores no responses, and sends the complete history with every request.
    async fn a_client_that_sends_its_whole_history_continues_with_its_results(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let counts = Counts::default();
        let app = server(&engine, &model, &counts).await;
        let unstored = |input: &[Value]| asked(input.to_vec(), &json!({"tools": offered(), "store": false}));
        let mut input = vec![json!({"role": "user", "content": "cwd: /"}), json!({"role": "user", "content": "Well?"})];
        model.reply([text("Let me see."), tool_call("counts", "{}"), tool_call("look", "{}"), tool_call("listen", "{}")]);
        let (first, uuid) = whole(&app, &unstored(&input)).await;
        let ids = call_ids(&first);
        let items = first["output"].as_array().unwrap();
        // Each call is followed by its result.
        input.extend([items[0].clone(), items[1].clone(), output(&ids[0], "rain"), items[2].clone(), output(&ids[1], "birds")]);
        model.reply([text("Rain and birds.")]);
        let (second, same) = whole(&app, &unstored(&input)).await;
        assert_eq!((&same, words(&second)), (&uuid, "Rain and birds."));
        let messages = prompt_messages(&model);
        for said in ["cwd: /", "Let me see.", OURS, "rain", "birds"] {
            assert!(messages.contains(said), "{said}: {messages}");
        }
        assert_eq!(counts.runs(), 1);
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM responses"), [(0,)]);
        model.assert_calls_paired();
    }

    /// Each client call of a response needs its result, and results of other calls are refused.
    async fn missing_and_forged_results_are_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = server(&engine, &model, &Counts::default()).await;
        model.reply([tool_call("look", "{}"), tool_call("listen", "{}"), tool_call("counts", "{}")]);
        let (asking, uuid) = whole(&app, &offering("Well?")).await;
        let turn = app.conversation(&uuid).await["messages"][1]["id"].clone();
        model.reply([text("Yes.")]);
        let (plain, _) = whole(&app, &offering("Sure?")).await;
        let ids = call_ids(&asking);
        let forged = json!(format!("tb_{turn}_0_2"));
        for (answer, input, names) in [
            (&asking, json!("And?"), &ids[0]),
            (&asking, json!([output(&ids[0], "rain")]), &ids[1]),
            (&asking, json!([output(&ids[0], "rain"), output(&ids[1], "birds"), output(&forged, "x")]), &forged),
            (&asking, json!([output(&json!("call_x"), "rain")]), &json!("call_x")),
            (&plain, json!([output(&ids[0], "rain"), output(&ids[1], "birds")]), &ids[0]),
        ] {
            let error = refusal(ask(&app, &[], &after(answer, input)).await, 400).await;
            assert!(error["message"].as_str().unwrap().contains(names.as_str().unwrap()), "{names}: {error}");
        }
        assert_eq!(model.requests().len(), 2);
        // Sending the same results twice gives another answer, and has no other effect.
        for _ in 0..2 {
            model.reply([text("Rain.")]);
            let (_, same) = whole(&app, &after(&asking, json!([output(&ids[0], "rain"), output(&ids[1], "birds")]))).await;
            assert_eq!(same, uuid);
        }
        model.assert_calls_paired();
    }
}

/// The model knows a function in a namespace by both names joined. The client sends and receives the two names
/// separately.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_function_in_a_namespace_is_called_by_both_names() {
    let model = MockLlm::start().await.unwrap();
    let app = server(&Engine::sqlite(), &model, &Counts::default()).await;
    model.reply([tool_call("more__listen", "{}")]);
    let (first, _) = whole(&app, &offering("Well?")).await;
    let call = &first["output"][0];
    assert_eq!((&call["namespace"], &call["name"]), (&json!("more"), &json!("listen")));
    let tools = model.requests()[0].body["tools"].to_string();
    assert!(tools.contains("more__listen") && !tools.contains("xxx"), "{tools}");
    model.reply([text("Birds.")]);
    let input = json!([{"role": "user", "content": "Well?"}, call, output(&call["call_id"], "birds")]);
    let (second, _) = whole(&app, &offering(input)).await;
    assert_eq!(words(&second), "Birds.");
    assert!(prompt_messages(&model).contains("more__listen"));
    model.assert_calls_paired();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_choice_is_honored_and_returned() {
    let model = MockLlm::start().await.unwrap();
    let app = server(&Engine::sqlite(), &model, &Counts::default()).await;
    for (choice, expected) in [
        (json!("none"), json!({"type": "none"})),
        (json!("required"), json!({"type": "any"})),
        (json!({"type": "function", "name": "look"}), json!({"type": "tool", "name": "look"})),
    ] {
        model.reply([text("Well."), tool_call("look", "{}")]);
        let (answer, _) = whole(&app, &asked("Well?", &json!({"tools": offered(), "tool_choice": choice}))).await;
        assert_eq!(model.requests().last().unwrap().body["tool_choice"], expected);
        assert_eq!((&answer["tool_choice"], call_ids(&answer).len()), (&choice, usize::from(choice != "none")));
    }
}
