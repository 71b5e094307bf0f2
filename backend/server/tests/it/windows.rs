//! Parts of a conversation: its newest messages, and the messages before a given one.

use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::{Conversation, Message, Role, Usage};

use crate::support::{Engine, EventReader, TestApp, execute, on_every_engine};

/// Creates a conversation with this number of turns, each with one call.
async fn converse(app: &TestApp, model: &MockLlm, turns: usize) -> String {
    let conversation = app.create_conversation().await;
    for turn in 0..turns {
        model.reply([text("Adding. "), tool_call("add", format!(r#"{{"a":{turn},"b":1}}"#))]);
        model.reply([text(format!("A{turn}"))]);
        app.send(&conversation, &format!("Q{turn}")).await.all().await;
    }
    conversation
}

async fn part(app: &TestApp, conversation: &str, query: &str) -> Conversation {
    let response = app.get(&format!("/api/conversations/{conversation}?{query}")).await;
    assert_eq!(response.status(), StatusCode::OK, "{query}");
    response.json().await.unwrap()
}

async fn refusal(app: &TestApp, conversation: &str, query: &str) -> (u16, Value) {
    let response = app.get(&format!("/api/conversations/{conversation}?{query}")).await;
    assert_eq!(response.headers()["content-type"], "application/problem+json", "{query}");
    (response.status().as_u16(), response.json::<Value>().await.unwrap()["type"].clone())
}

fn earlier(part: &Conversation) -> i64 {
    part.earlier.map_or(0, |earlier| earlier.count)
}

fn usage(messages: &[Message]) -> Usage {
    messages.iter().filter_map(|message| message.usage).sum()
}

on_every_engine! {
    async fn a_conversation_is_paged_from_its_end(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = converse(&app, &model, 5).await;
        // Every table also has rows of another conversation.
        let other = converse(&app, &model, 1).await;

        let whole = part(&app, &conversation, "").await;
        assert_eq!((whole.messages.len(), whole.earlier), (10, None));
        assert!(app.conversation(&conversation).await.get("earlier").is_none(), "a complete conversation has no `earlier`");

        let mut read = part(&app, &conversation, "limit=4").await;
        assert_eq!(read.messages, whole.messages[6..]);
        let before = &whole.messages[..6];
        assert_eq!((earlier(&read), read.earlier.unwrap().usage), (6, usage(before)));
        assert!(usage(before).output_tokens > 0);
        // The first message that the client has names the next page.
        let mut messages = std::mem::take(&mut read.messages);
        for left in [2, 0] {
            let page = part(&app, &conversation, &format!("limit=4&before={}", messages[0].id)).await;
            assert_eq!(earlier(&page), left);
            messages.splice(..0, page.messages);
        }
        assert_eq!(messages, whole.messages, "with all calls");
        let none = part(&app, &conversation, &format!("limit=4&before={}", messages[0].id)).await;
        assert_eq!((none.messages, none.earlier), (vec![], None));

        let id = |at: usize| whole.messages[at].id;
        for (query, first, end) in [
            // An answer always comes with its question.
            ("limit=3".to_owned(), 6, 10),
            ("limit=0".to_owned(), 8, 10),
            ("limit=4000000000".to_owned(), 0, 10),
            (format!("before={}", id(4)), 0, 4),
            (format!("limit=2&before={}", id(5)), 2, 5),
            // Back to a message that the client has already.
            (format!("limit=2&from={}", id(3)), 2, 10),
            (format!("limit=4&from={}", id(8)), 6, 10),
            (format!("limit=2&from={}", part(&app, &other, "").await.messages[0].id), 8, 10),
            (format!("limit=2&before={}&from={}", id(6), id(2)), 2, 6),
        ] {
            let part = part(&app, &conversation, &query).await;
            assert_eq!((part.messages.as_slice(), earlier(&part)), (&whole.messages[first..end], i64::try_from(first).unwrap()), "{query}");
        }
    }

    async fn invalid_pages_are_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (conversation, other) = (converse(&app, &model, 1).await, converse(&app, &model, 1).await);
        let foreign = part(&app, &other, "").await.messages[0].id;
        for query in ["limit=some", "limit=-1", "before=x", "from=1.5", "before=99999999999999999999"] {
            assert_eq!(refusal(&app, &conversation, query).await, (400, json!("/problems/bad-query")), "{query}");
        }
        for query in [format!("before={foreign}"), "before=0".to_owned(), format!("before={}&limit=5", i64::MAX)] {
            assert_eq!(refusal(&app, &conversation, &query).await, (404, json!("/problems/no-such-message")), "{query}");
        }
        let empty = app.create_conversation().await;
        let nothing = part(&app, &empty, "limit=50").await;
        assert_eq!((nothing.messages, nothing.earlier), (vec![], None));
        assert_eq!(refusal(&app, &empty, &format!("before={foreign}")).await.0, 404);
    }

    async fn each_branch_has_its_own_pages(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = converse(&app, &model, 3).await;
        let old = part(&app, &conversation, "").await.messages;
        model.reply([text("Another.")]);
        let edit = json!({"content": "Q1 edited", "edit_of": old[2].id});
        EventReader::new(app.post(&format!("/api/conversations/{conversation}/messages"), edit).await).all().await;

        let shown = part(&app, &conversation, "limit=2").await;
        assert_eq!(shown.messages[0].content, "Q1 edited");
        assert_eq!(shown.messages[0].siblings, [old[2].id, shown.messages[0].id]);
        assert_eq!((earlier(&shown), shown.earlier.unwrap().usage), (2, usage(&old[..2])), "each branch has its own cost");
        let page = part(&app, &conversation, &format!("limit=50&before={}", shown.messages[0].id)).await;
        assert_eq!(page.messages, old[..2]);
        // A client that still shows the old branch pages back on that branch.
        let page = part(&app, &conversation, &format!("limit=2&before={}", old[4].id)).await;
        assert_eq!(page.messages.iter().map(|message| message.id).collect::<Vec<_>>(), [old[2].id, old[3].id]);

        // The old branch is selected again: the response has no more of it than the query asks for, and goes as far
        // back as that.
        for (query, first) in [("limit=2".to_owned(), 4), (format!("limit=2&from={}", old[2].id), 2), (String::new(), 0)] {
            let path = format!("/api/conversations/{conversation}/messages/{}/select?{query}", old[2].id);
            let back: Conversation = app.post(&path, json!(null)).await.json().await.unwrap();
            let ids = |messages: &[Message]| messages.iter().map(|message| message.id).collect::<Vec<_>>();
            assert_eq!(ids(&back.messages), ids(&old[first..]), "{query}");
        }
    }

    async fn the_newest_page_contains_the_running_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = converse(&app, &model, 2).await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_late([text("Three.")]);
        let mut turn = app.send(&conversation, "1 + 2?").await;
        turn.until("tool_call_end").await;
        let newest = part(&app, &conversation, "limit=2").await;
        assert_eq!(newest.active_message_id, Some(newest.messages[1].id));
        assert_eq!((newest.messages[1].content.as_str(), newest.messages[1].tool_calls.len()), ("Adding. ", 1));
        assert_eq!(earlier(&newest), 4);
        gate.open();
        turn.all().await;
    }

    /// Each letter takes three bytes, and the limit counts bytes.
    async fn long_texts_are_returned_in_several_pages(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = converse(&app, &model, 6).await;
        let messages = part(&app, &conversation, "").await.messages;
        let (first, head) = (messages[0].id, messages[11].id);
        let megabytes = "CONCAT(content, content, content, content, content)";
        execute!(app, AssertSqlSafe(format!("UPDATE messages SET content = '{}' WHERE role = 'assistant'", "あ".repeat(340_000))));
        execute!(app, AssertSqlSafe(format!("UPDATE messages SET content = {megabytes} WHERE role = 'assistant'")));

        for query in [String::new(), "limit=200".to_owned(), format!("limit=1&from={first}"), format!("limit=200&before={head}")] {
            let first = part(&app, &conversation, &query).await;
            let mut pages = vec![first.messages.clone()];
            let mut left = earlier(&first);
            while left > 0 {
                let page = part(&app, &conversation, &format!("limit=200&before={}", pages.last().unwrap()[0].id)).await;
                assert_eq!(earlier(&page) + i64::try_from(page.messages.len()).unwrap(), left, "{query}");
                left = earlier(&page);
                pages.push(page.messages);
            }
            for page in &pages {
                let bytes: usize = page.iter().map(|message| message.content.len()).sum();
                assert!(bytes <= 16 * 1024 * 1024 && page[0].role == Role::User, "{query}: {bytes}");
            }
            let read: Vec<_> = pages.iter().rev().flatten().map(|message| message.id.0).collect();
            let whole = 12 - i64::from(query.contains("before"));
            assert_eq!(pages.len(), 2, "{query}: as few pages as possible");
            assert_eq!(read.len(), usize::try_from(whole).unwrap(), "{query}");
            assert!(read.is_sorted_by(|one, next| one < next), "{query}");
        }
        let head = &part(&app, &conversation, "limit=1").await.messages[1];
        let path = format!("/api/conversations/{conversation}/messages/{}/select", head.id);
        let selected: Conversation = app.post(&path, json!(null)).await.json().await.unwrap();
        assert_eq!((selected.messages.len(), earlier(&selected)), (6, 6));
    }

    async fn pages_larger_than_one_query_are_complete(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for turn in 0..105 {
            model.reply([text(format!("A{turn}"))]);
            app.send(&conversation, &format!("Q{turn}")).await.all().await;
        }
        let whole = part(&app, &conversation, "").await.messages;
        let expected: Vec<String> = (0..105).flat_map(|turn| [format!("Q{turn}"), format!("A{turn}")]).collect();
        assert_eq!(whole.iter().map(|message| message.content.clone()).collect::<Vec<_>>(), expected);
        let most = part(&app, &conversation, "limit=1000").await;
        assert_eq!((most.messages.as_slice(), earlier(&most)), (&whole[10..], 10));
    }
}

/// Unreadable times prove it: SQLite stores any value.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_outside_the_page_are_not_read() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = converse(&app, &model, 3).await;
    let messages = part(&app, &conversation, "").await.messages;
    execute!(app, "UPDATE tool_calls SET started_at = 'unreadable' WHERE id = (SELECT MIN(id) FROM tool_calls)");
    execute!(app, "UPDATE messages SET created_at = 'unreadable' WHERE id = (SELECT MAX(id) FROM messages)");
    assert_eq!(refusal(&app, &conversation, "").await.0, 500);
    let page = part(&app, &conversation, &format!("limit=2&before={}", messages[4].id)).await;
    assert_eq!(page.messages, messages[2..4]);
    for query in ["limit=2".to_owned(), format!("before={}", messages[2].id)] {
        assert_eq!(refusal(&app, &conversation, &query).await.0, 500, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exchange_is_never_split() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = converse(&app, &model, 3).await;
    execute!(app, "UPDATE messages SET content = REPLACE(HEX(ZEROBLOB(9000000)), '0', 'x') WHERE role = 'assistant'");
    for (query, before) in [("", 4), ("limit=50", 4)] {
        let page = part(&app, &conversation, query).await;
        assert_eq!((page.messages.len(), page.messages[1].content.len(), earlier(&page)), (2, 18_000_000, before));
    }
}
