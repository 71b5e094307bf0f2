//! Pinned and archived conversations.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};
use tallybook_protocol::FeedKind;

use crate::{
    bad_input::assert_problem,
    support::{Engine, FeedReader, TestApp, execute, on_every_engine, rows},
};

async fn patch(app: &TestApp, conversation: &str, body: Value) -> Response {
    app.client.patch(app.url(&format!("/api/conversations/{conversation}"))).json(&body).send().await.unwrap()
}

async fn patched(app: &TestApp, conversation: &str, body: Value) -> Value {
    let response = patch(app, conversation, body).await;
    assert_eq!(response.status(), StatusCode::OK);
    response.json().await.unwrap()
}

/// Returns the conversations in a list, as positions in `known`.
async fn listed(app: &TestApp, query: &str, known: &[&String]) -> Vec<usize> {
    let page = app.get_json(&format!("/api/conversations?{query}")).await;
    let place = |item: &Value| known.iter().position(|uuid| item["uuid"] == uuid.as_str()).unwrap();
    page["items"].as_array().unwrap().iter().map(place).collect()
}

on_every_engine! {
    async fn lists_can_be_filtered_by_pinned_and_archived(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (a, b, c) =
            (app.create_conversation().await, app.create_conversation().await, app.create_conversation().await);
        let all = [&a, &b, &c];
        patched(&app, &a, json!({"pinned": true})).await;
        let both = patched(&app, &b, json!({"archived": true, "title": "Taxes", "pinned": true})).await;
        assert_eq!((&both["archived"], &both["pinned"], &both["title"]), (&json!(true), &json!(true), &json!("Taxes")));
        for (query, found) in [
            ("", vec![2, 0]),
            ("pinned=true", vec![0]),
            ("pinned=false", vec![2]),
            ("archived=true", vec![1]),
            ("archived=true&pinned=false", vec![]),
            ("archived=false", vec![2, 0]),
            ("q=", vec![2, 0]),
            // A search also finds archived conversations.
            ("q=taxes", vec![1]),
            ("q=taxes&archived=false", vec![]),
        ] {
            assert_eq!(listed(&app, query, &all).await, found, "{query}");
        }
        let flags = |item: &Value| (item["pinned"] == true, item["archived"] == true);
        let page = app.get_json("/api/conversations").await;
        assert_eq!((flags(&page["items"][0]), flags(&page["items"][1])), ((false, false), (true, false)));
        assert_eq!(flags(&app.conversation(&b).await), (true, true));
        let back = patched(&app, &b, json!({"archived": false})).await;
        assert_eq!(flags(&back), (true, false));
        assert_eq!(listed(&app, "", &all).await, [2, 1, 0], "the order does not change");

        let page = app.get_json("/api/conversations?pinned=true&limit=1").await;
        assert_eq!(page["items"][0]["uuid"], b);
        let cursor = page["next_cursor"].as_str().unwrap();
        assert_eq!(listed(&app, &format!("pinned=true&limit=1&cursor={cursor}"), &all).await, [0]);
    }

    async fn a_message_unarchives_its_conversation(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        patched(&app, &conversation, json!({"archived": true, "pinned": true})).await;
        model.reply([text("Hello.")]);
        app.send(&conversation, "Hi").await.all().await;
        let found = app.conversation(&conversation).await;
        assert_eq!((&found["archived"], &found["pinned"]), (&json!(false), &json!(true)));
    }

    async fn the_feed_reports_pinning_and_archiving(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let mut feed = FeedReader::open(&app).await;
        for (change, pinned, archived) in [
            (json!({"pinned": true}), true, false),
            (json!({"archived": true}), true, true),
            (json!({"archived": false, "pinned": false}), false, false),
        ] {
            patched(&app, &conversation, change).await;
            let event = feed.next().await;
            assert_eq!((event.kind, event.pinned, event.archived),
                (FeedKind::ConversationUpdated, Some(pinned), Some(archived)));
        }
    }

    async fn the_feed_distinguishes_deleting_from_unpinning_old_conversations(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (deleted, unpinned) = (app.create_conversation().await, app.create_conversation().await);
        for conversation in [&deleted, &unpinned] {
            patched(&app, conversation, json!({"pinned": true})).await;
        }
        // More unpinned conversations than the feed watches.
        for _ in 0..201 {
            app.create_conversation().await;
        }
        let mut feed = FeedReader::open(&app).await;
        patched(&app, &unpinned, json!({"pinned": false})).await;
        let event = feed.next().await;
        assert_eq!((event.kind, event.pinned), (FeedKind::ConversationUpdated, Some(false)));
        app.client.delete(app.url(&format!("/api/conversations/{deleted}"))).send().await.unwrap();
        let event = feed.next().await;
        assert_eq!((event.kind, event.conversation_id.to_string()), (FeedKind::ConversationDeleted, deleted));
    }

    async fn pinned_conversations_are_limited(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        for _ in 0..99 {
            app.create_conversation().await;
        }
        execute!(app, "UPDATE conversations SET pinned = TRUE");
        let (a, b) = (app.create_conversation().await, app.create_conversation().await);
        let pin = json!({"pinned": true});
        // Two changes at once: only one of them can pin the hundredth conversation.
        let (first, second) = tokio::join!(patch(&app, &a, pin.clone()), patch(&app, &b, pin.clone()));
        let (done, refused, pinned) =
            if first.status() == StatusCode::OK { (first, second, &a) } else { (second, first, &b) };
        assert_eq!(done.status(), StatusCode::OK);
        let problem = assert_problem(refused, 422, "invalid-input").await;
        assert!(problem["detail"].as_str().unwrap().contains("100 conversations are pinned"), "{problem}");
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM conversations WHERE pinned"), [(100,)]);
        // A pinned conversation can be pinned again, and everything else about it can change.
        patched(&app, pinned, json!({"pinned": true, "title": "Pinned"})).await;
        patched(&app, pinned, json!({"pinned": false})).await;
        let other = if *pinned == a { &b } else { &a };
        patched(&app, other, json!({"archived": true, "pinned": true})).await;
    }

    async fn empty_and_invalid_changes_are_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for body in [json!({}), json!({"pin": true}), json!({"title": null}), json!({"title": " ", "pinned": true})] {
            assert_problem(patch(&app, &conversation, body).await, 422, "invalid-input").await;
        }
        assert_problem(patch(&app, &conversation, json!({"pinned": "yes"})).await, 400, "bad-body").await;
        let other = "01890a5d-ac96-774b-bcce-b302099a8057";
        for body in [json!({"pinned": true}), json!({"archived": true}), json!({"title": "New"})] {
            assert_problem(patch(&app, other, body).await, 404, "no-such-conversation").await;
        }
        assert_problem(app.get("/api/conversations?pinned=maybe").await, 400, "bad-query").await;
        assert_eq!(app.conversation(&conversation).await["pinned"], false);
    }
}
