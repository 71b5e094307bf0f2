//! Requests with client tools: options that are honored, and requests that are refused with the name of the invalid
//! parameter.

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use super::{
    super::kit::{ask, conversations, refusal},
    body, handed_over, offered, result, server, user,
};
use crate::support::{Counts, Engine};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tool_choice_is_honored() {
    let model = MockLlm::start().await.unwrap();
    let counts = Counts::default();
    let app = server(&Engine::sqlite(), &model, &counts).await;
    for (choice, sent, finish) in [
        (json!("none"), json!({"type": "none"}), "stop"),
        (json!("required"), json!({"type": "any"}), "tool_calls"),
        (
            json!({"type": "function", "function": {"name": "look"}}),
            json!({"type": "tool", "name": "look"}),
            "tool_calls",
        ),
        (json!("auto"), Value::Null, "tool_calls"),
    ] {
        // This model ignores `tool_choice`. With `none`, the server still runs no call and returns no call.
        model.reply([text("Well."), tool_call("look", "{}"), tool_call("counts", "{}")]);
        let mut asked = body(&[user("Well?")]);
        asked["tool_choice"] = choice;
        let answer: Value = ask(&app, &[], &asked).await.json().await.unwrap();
        assert_eq!(answer["choices"][0]["finish_reason"], finish, "{answer}");
        assert_eq!(answer["choices"][0]["message"].get("tool_calls").is_some(), finish == "tool_calls");
        assert_eq!(model.requests().last().unwrap().body["tool_choice"], sent);
    }
    assert_eq!(counts.runs(), 3, "`none` applies to the server's tools, too");
    let mut asked = json!({"messages": [user("Well?")], "tool_choice": "required"});
    assert_eq!(refusal(ask(&app, &[], &asked).await, 400).await["param"], "tool_choice");
    asked["tool_choice"] = json!("none");
    model.reply([text("Words.")]);
    assert_eq!(ask(&app, &[], &asked).await.status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_definitions_are_refused_with_their_path() {
    let model = MockLlm::start().await.unwrap();
    let app = server(&Engine::sqlite(), &model, &Counts::default()).await;
    let function = |parameters: Value| json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
    let many: Vec<Value> =
        (0..129).map(|n| json!({"type": "function", "function": {"name": format!("f{n}")}})).collect();
    for (tools, param) in [
        (json!(many), "tools"),
        (json!([{"type": "function", "function": {"name": "no name"}}]), "tools[0].function.name"),
        (json!([function(json!({"description": "x".repeat(64 * 1024)}))]), "tools[0].function.parameters"),
        (json!([function(json!("{}"))]), "tools[0].function.parameters"),
        (json!([{"type": "web_search"}]), "tools[0].type"),
    ] {
        let asked = json!({"messages": [user("Well?")], "tools": tools});
        assert_eq!(refusal(ask(&app, &[], &asked).await, 400).await["param"], param);
    }
    let plain = json!({"model": "test-model:plain", "messages": [user("Well?")], "tools": offered()});
    assert_eq!(refusal(ask(&app, &[], &plain).await, 400).await["param"], "tools");
    assert_eq!((model.requests().len(), conversations(&app).await.len()), (0, 0));
}

/// The stored turn decides which calls exist. A request must have the results of both client calls. Ids of calls that
/// do not exist, or that the client never received, are all refused with the same message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_results_and_forged_ids_are_refused() {
    let model = MockLlm::start().await.unwrap();
    let app = server(&Engine::sqlite(), &model, &Counts::default()).await;
    model.reply([tool_call("counts", "{}"), tool_call("look", "{}"), tool_call("listen", "{}")]);
    let (uuid, message, ids) = handed_over(&app, &body(&[user("Well?")])).await;
    let missing = [user("Well?"), message.clone(), result(&ids[0], "rain")];
    let error = refusal(ask(&app, &[], &body(&missing)).await, 400).await;
    assert_eq!(error["param"], "messages[1].tool_calls");
    // Leaving out the call as well does not help.
    let mut shorter = message.clone();
    shorter["tool_calls"].as_array_mut().unwrap().pop();
    let error = refusal(ask(&app, &[], &body(&[user("Well?"), shorter, result(&ids[0], "rain")])).await, 400).await;
    assert!(error["message"].as_str().unwrap().contains(ids[1].as_str().unwrap()), "{error}");

    let turn = app.conversation(&uuid).await["messages"][1]["id"].clone();
    let question = app.conversation(&uuid).await["messages"][0]["id"].clone();
    let mut said = Vec::new();
    for id in [
        // A server call, another step, a turn that does not exist, a question, and an invalid id.
        format!("tb_{turn}_0_0"),
        format!("tb_{turn}_1_0"),
        "tb_999999_0_0".to_owned(),
        format!("tb_{question}_0_0"),
        "tb_x".to_owned(),
    ] {
        let call = json!({"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}});
        let forged = json!({"role": "assistant", "tool_calls": [call]});
        let sent = [user("Well?"), forged, result(&json!(id), "x")];
        let error = refusal(ask(&app, &[], &body(&sent)).await, 400).await;
        said.push(error["message"].as_str().unwrap().replace(&id, "ID"));
    }
    said.dedup();
    assert_eq!(said.len(), 1, "guessing reveals nothing: {said:?}");
    assert_eq!(model.requests().len(), 1);
    // A turn is deleted with its conversation.
    app.delete(&uuid).await;
    let sent = [user("Well?"), message, result(&ids[0], "rain"), result(&ids[1], "birds")];
    refusal(ask(&app, &[], &body(&sent)).await, 400).await;
}
