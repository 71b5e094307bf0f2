//! Reasoning of models: how clients receive it, where it is stored, and which prompts contain it.

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, hang, text, thinking, tool_call};
use tallybook_protocol::{ChatEvent, MAX_STEP_REASONING_BYTES, MessageStatus, Reasoning};

use crate::support::{Engine, EventReader, Provider, TestApp, end_of, eventually, on_every_engine, rows};

/// Returns the reasoning of a client that knows only the deltas, and the snapshots that replace them if it is too far
/// behind.
fn heard(events: &[ChatEvent]) -> Vec<Reasoning> {
    let mut heard: Vec<Reasoning> = Vec::new();
    for event in events {
        let delta = match event {
            ChatEvent::ReasoningDelta(delta) => delta,
            ChatEvent::Snapshot(snapshot) => {
                heard.clone_from(&snapshot.reasoning);
                continue;
            }
            _ => continue,
        };
        match heard.iter_mut().find(|known| known.reasoning_id == delta.reasoning_id) {
            Some(known) => known.apply(delta),
            None => heard.push(Reasoning::started_by(delta)),
        }
    }
    heard
}

async fn until_reasoning(reader: &mut EventReader, words: &str) {
    let mut reasoning = String::new();
    while reasoning != words {
        let ChatEvent::ReasoningDelta(delta) = reader.until("reasoning_delta").await.event else { unreachable!() };
        reasoning.truncate(usize::try_from(delta.reasoning_offset).unwrap());
        reasoning.push_str(&delta.delta);
    }
}

/// Scripts an answer of two steps, each of which starts with reasoning.
fn script(model: &MockLlm) {
    model.reply([thinking("Let me <b>think</b>.", "c2ln"), text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([thinking("That was easy.", "c2ln"), text("It is 3.")]);
}

on_every_engine! {
    async fn reasoning_streams_apart_from_the_answer_and_is_stored_with_its_step(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            script(&model);
            let events = app.send(&conversation, "1 + 2?").await.all().await;
            let end = end_of(&events);
            assert_eq!((end.content.as_str(), end.status), ("Adding. \n\nIt is 3.", MessageStatus::Complete));
            let [first, second] = &end.reasoning[..] else { panic!("{:?}", end.reasoning) };
            assert_eq!((first.text.as_str(), first.reasoning_id), ("Let me <b>think</b>.", 0));
            assert_eq!((first.offset, first.calls_before, first.truncated), (0, 0, false));
            assert_eq!((second.text.as_str(), second.reasoning_id), ("That was easy.", 1));
            assert_eq!((second.offset, second.calls_before), (8, 1));
            assert!(first.duration_ms.is_some() && second.duration_ms.is_some(), "the server reports the duration");
            assert_eq!(heard(&events), end.reasoning, "the deltas have the same text");

            let stored = app.conversation(&conversation).await;
            let stored_reasoning: Vec<Reasoning> = serde_json::from_value(stored["messages"][1]["reasoning"].clone()).unwrap();
            assert_eq!(stored_reasoning, end.reasoning);
            let sql = "SELECT CAST(COUNT(*) AS SIGNED) FROM reasonings r JOIN journal_events j ON j.message_id = r.message_id \
                 AND j.event = 'reasoning_delta'";
            assert!(rows!(app, (i64,), sql)[0].0 >= 2, "in its own rows, and in the journal");

            let path = format!("/api/conversations/{conversation}");
            let markdown = app.get(&format!("{path}/export?format=markdown")).await.text().await.unwrap();
            let order = ["**Thought**", "Let me <b>think</b>.", "Adding.", "**Tool call** `add`", "That was easy.", "It is 3."];
            let places: Vec<_> = order.iter().map(|words| markdown.find(words)).collect();
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {markdown}");
            let json = app.get_json(&format!("{path}/export?format=json")).await;
            assert_eq!(json["messages"][1]["reasoning"], stored["messages"][1]["reasoning"]);
            let playback = app.get_json(&format!("{path}/messages/{}/playback", stored["messages"][1]["id"])).await;
            assert!(playback.to_string().contains("reasoning_delta"), "{playback}");
        }
    }

    /// Some chat templates write the opening tag, so the model only writes the closing one.
    async fn text_before_a_lone_closing_tag_becomes_reasoning(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine).with_model(Provider::OpenAi.settings(model.url())).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_gated([text("Let me see: 1 + 2")], [text(" = 3.\n</think>\n\nIt is 3.")]);
        let mut reader = app.send(&conversation, "1 + 2?").await;
        // The reasoning streams as text until the tag shows what it was.
        let mut events = Vec::new();
        let mut shown = String::new();
        while !shown.ends_with("1 + 2") {
            let event = reader.until("content_delta").await.event;
            let ChatEvent::ContentDelta(delta) = &event else { unreachable!() };
            shown.push_str(&delta.delta);
            events.push(event);
        }
        gate.open();
        events.extend(reader.all().await);
        let Some(ChatEvent::Snapshot(snapshot)) = events.iter().find(|event| matches!(event, ChatEvent::Snapshot(_)))
        else {
            panic!("{events:?}")
        };
        assert_eq!((snapshot.content.as_str(), snapshot.reasoning.len()), ("Adding. ", 1));
        let end = end_of(&events);
        assert_eq!((end.content.as_str(), end.status), ("Adding. \n\nIt is 3.", MessageStatus::Complete));
        let [reasoning] = &end.reasoning[..] else { panic!("{:?}", end.reasoning) };
        assert_eq!((reasoning.text.as_str(), reasoning.reasoning_id, reasoning.offset), ("Let me see: 1 + 2 = 3.\n", 1, 8));
        assert!(reasoning.duration_ms.is_some());
        assert_eq!(heard(&events), end.reasoning);
        let stored = app.conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["content"], "Adding. \n\nIt is 3.");
        let path = format!("/api/conversations/{conversation}/messages/{}/playback", stored["messages"][1]["id"]);
        let playback = app.get_json(&path).await.to_string();
        assert!(playback.contains("snapshot"), "{playback}");

        // By now the server knows the model, so its next answer is reasoning from its first word on.
        model.reply([text("Hm.\n</think>\n\nFour.")]);
        let events = app.send(&conversation, "2 + 2?").await.all().await;
        let end = end_of(&events);
        assert_eq!((end.content.as_str(), end.reasoning[0].text.as_str()), ("Four.", "Hm.\n"));
        assert!(!events.iter().any(|event| matches!(event, ChatEvent::Snapshot(_))), "{events:?}");
    }

    async fn a_response_that_is_not_streamed_has_no_reasoning_in_its_text(engine: Engine) {
        for model_name in ["test-model", "test-model:plain"] {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(Provider::OpenAi.settings(model.url())).spawn().await;
            model.reply([text("Hm, hm.\n</think>\n\nIt is 3.")]);
            let body = json!({"model": model_name, "messages": [{"role": "user", "content": "1 + 2?"}]});
            let answer: Value = app.post("/v1/chat/completions", body).await.json().await.unwrap();
            assert_eq!(answer["choices"][0]["message"]["content"], "It is 3.", "{answer}");
        }
    }

    /// Prompts of later turns do not contain the reasoning in any form. Prompts within the turn contain it only in the
    /// form that its own provider requires.
    async fn later_prompts_contain_no_reasoning(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            script(&model);
            app.send(&conversation, "1 + 2?").await.all().await;
            model.reply([text("<think>Nothing to <add>.</think>\n\nYou are welcome.")]);
            let thanks = app.send(&conversation, "Thanks").await.all().await;
            model.reply([text("Bye.")]);
            app.send(&conversation, "Bye").await.all().await;
            let last = model.requests().pop().unwrap().body.to_string();
            for words in ["Let me", "That was easy", "Nothing to"] {
                let is_sent = last.contains(words);
                assert_eq!(is_sent, words == "Nothing to" && provider == Provider::Anthropic, "{words} in {last}");
            }
            // Anthropic's models have blocks for reasoning, so tags in their text are ordinary text.
            if provider != Provider::Anthropic {
                let end = end_of(&thanks);
                assert_eq!((end.content.as_str(), end.reasoning[0].text.as_str()), ("You are welcome.", "Nothing to <add>."));
            }
        }
    }

    async fn reasoning_of_a_stopped_step_stays_until_the_answer_resumes(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([thinking("First.", "c2ln"), tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([thinking("Well, well", "c2ln"), hang()]);
        let mut reader = app.send(&conversation, "1 + 2?").await;
        until_reasoning(&mut reader, "First.").await;
        reader.until("tool_call_end").await;
        until_reasoning(&mut reader, "Well, well").await;
        let stopped = app.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
        let ChatEvent::MessageEnd(end) = reader.until("message_end").await.event else { unreachable!() };
        let texts = |reasoning: &[Reasoning]| reasoning.iter().map(|one| one.text.clone()).collect::<Vec<_>>();
        assert_eq!((end.status, texts(&end.reasoning)), (MessageStatus::Stopped, vec!["First.".to_owned(), "Well, well".to_owned()]));
        assert!(end.reasoning[1].duration_ms.is_some(), "the duration until the stop is known");
        let stored = app.conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["reasoning"][1]["text"], "Well, well");

        model.reply([thinking("Again.", "c2ln"), text("It is 3.")]);
        let events = app.continue_turn(&conversation).await.all().await;
        let Some(ChatEvent::Snapshot(snapshot)) = events.first() else { panic!("{events:?}") };
        assert_eq!(texts(&snapshot.reasoning), ["First."], "the completed step's reasoning stays, the other step's is removed");
        assert_eq!(texts(&end_of(&events).reasoning), ["First.", "Again."]);
        let stored = app.conversation(&conversation).await;
        let stored_reasoning: Vec<Reasoning> = serde_json::from_value(stored["messages"][1]["reasoning"].clone()).unwrap();
        assert_eq!(stored_reasoning, end_of(&events).reasoning);
        model.assert_calls_paired();
    }

    async fn a_kill_keeps_the_stored_reasoning(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::launch(&engine, &model);
        let conversation = app.create_conversation().await;
        model.reply([thinking("Hm, hm", "c2ln"), hang()]);
        let mut reader = app.send(&conversation, "1 + 2?").await;
        until_reasoning(&mut reader, "Hm, hm").await;
        eventually("the reasoning is stored", async || {
            let stored = rows!(engine, (String,), "SELECT data FROM journal_events WHERE event = 'reasoning_delta' ORDER BY id");
            let events = stored.iter().map(|(data,)| ChatEvent::parse("reasoning_delta", data).unwrap());
            heard(&events.collect::<Vec<_>>()).first().is_some_and(|reasoning| reasoning.text == "Hm, hm")
        }).await;
        app.kill();
        let again = TestApp::launch(&engine, &model);
        let mut seen = Value::Null;
        eventually("the turn is closed", async || {
            seen = again.conversation(&conversation).await;
            seen["messages"][1]["status"] == "interrupted"
        }).await;
        assert_eq!(seen["messages"][1]["reasoning"][0]["text"], "Hm, hm");
        model.reply([text("It is 3.")]);
        let events = again.continue_turn(&conversation).await.all().await;
        let end = end_of(&events);
        assert_eq!((end.content.as_str(), end.reasoning.len()), ("It is 3.", 0), "the reasoning of the aborted step is removed");
    }

    async fn endless_reasoning_is_truncated_and_marked(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([thinking("考".repeat(MAX_STEP_REASONING_BYTES / 2), "c2ln"), text("Yes.")]);
        let events = app.send(&conversation, "Well?").await.all().await;
        let end = end_of(&events);
        let [reasoning] = &end.reasoning[..] else { panic!("{} thoughts", end.reasoning.len()) };
        assert!(reasoning.truncated && reasoning.duration_ms.is_some());
        assert!(reasoning.text.len() > MAX_STEP_REASONING_BYTES - 3 && reasoning.text.len() <= MAX_STEP_REASONING_BYTES);
        assert_eq!(heard(&events), end.reasoning);
        let stored = app.conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["reasoning"][0], serde_json::to_value(reasoning).unwrap());
    }

    async fn api_clients_get_the_reasoning_beside_the_content(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        for stream in [false, true] {
            script(&model);
            let body = json!({"model": "test-model", "stream": stream, "messages": [{"role": "user", "content": "1 + 2?"}]});
            let answer = app.post("/v1/chat/completions", body).await.text().await.unwrap();
            let (mut reasoning, mut content) = (String::new(), String::new());
            let mut take = |message: &Value| {
                reasoning.push_str(message["reasoning_content"].as_str().unwrap_or_default());
                content.push_str(message["content"].as_str().unwrap_or_default());
            };
            if stream {
                let chunks = answer.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
                chunks.map(|data| serde_json::from_str::<Value>(data).unwrap()).for_each(|chunk| take(&chunk["choices"][0]["delta"]));
            } else {
                take(&serde_json::from_str::<Value>(&answer).unwrap()["choices"][0]["message"]);
            }
            assert_eq!((reasoning.as_str(), content.as_str()), ("Let me <b>think</b>.That was easy.", "Adding. \n\nIt is 3."));
        }
    }
}
