//! Search: in all conversations and in one. `index` tests that the index changes no result.

mod index;

use std::fmt::Write as _;

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::{Role, SearchHit, SearchPage};

use crate::{
    bad_input::assert_problem,
    support::{Engine, TestApp, execute, on_every_engine},
};

async fn page(app: &TestApp, path: &str, query: &str, cursor: Option<&str>) -> SearchPage {
    let mut url = url::Url::parse(&app.url(path)).unwrap();
    url.query_pairs_mut().append_pair("query", query);
    if let Some(cursor) = cursor {
        url.query_pairs_mut().append_pair("cursor", cursor);
    }
    let response = app.client.get(url).send().await.unwrap();
    assert_eq!(response.status(), 200, "{query}");
    response.json().await.unwrap()
}

/// Returns all matches of a search, read page by page.
async fn found(app: &TestApp, path: &str, query: &str) -> Vec<SearchHit> {
    let mut hits = Vec::new();
    let mut cursor = None;
    loop {
        let page = page(app, path, query, cursor.as_deref()).await;
        hits.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return hits;
        }
    }
}

fn snippet(hit: &SearchHit) -> String {
    hit.snippet.iter().fold(String::new(), |mut text, part| {
        let [open, close] = if part.is_match { ["[", "]"] } else { ["", ""] };
        write!(text, "{open}{}{close}", part.text).unwrap();
        text
    })
}

fn snippets(hits: &[SearchHit]) -> Vec<String> {
    hits.iter().map(snippet).collect()
}

async fn said(app: &TestApp, model: &MockLlm, conversation: &str, question: &str, answer: &str) {
    model.reply([text(answer)]);
    app.send(conversation, question).await.all().await;
}

on_every_engine! {
    async fn terms_are_found_in_messages_titles_and_calls(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let first = app.create_conversation().await;
        said(&app, &model, &first, "Is rhubarb a fruit?", "Rhubarb is a vegetable.").await;
        let second = app.create_conversation().await;
        model.reply([tool_call("add", r#"{"a":1,"b":"rhubarb"}"#)]);
        model.reply([text("That was no number. Привет, 大阪!")]);
        app.send(&second, "Add a plant").await.all().await;

        let hits = found(&app, "/api/search", "RHUBARB").await;
        assert_eq!(snippets(&hits), [
            r#"{"a":1,"b":"[rhubarb]"}"#,
            "[Rhubarb] is a vegetable.",
            "Is [rhubarb] a fruit?",
            // The title, which is the first question.
            "Is [rhubarb] a fruit?",
        ]);
        let roles: Vec<_> = hits.iter().map(|hit| hit.role).collect();
        assert_eq!(roles, [Some(Role::Assistant), Some(Role::Assistant), Some(Role::User), None]);
        let uuids: Vec<_> = hits.iter().map(|hit| hit.conversation_uuid.to_string()).collect();
        assert_eq!(uuids, [second.clone(), first.clone(), first.clone(), first.clone()]);
        let call = &app.conversation(&second).await["messages"][1]["tool_calls"][0];
        assert_eq!(json!(hits[0].tool_call_id), call["tool_call_id"]);
        assert_eq!(hits[0].tool_name.as_deref(), Some("add"));
        assert_eq!(json!(hits[1].message_id), app.conversation(&first).await["messages"][1]["id"]);
        assert!(hits[1].tool_call_id.is_none() && hits[3].message_id.is_none());
        assert!(hits.iter().all(|hit| hit.shown));
        assert!(hits.is_sorted_by(|a, b| a.created_at >= b.created_at));

        for (query, expected) in [
            ("vegetable rhubarb", vec!["[Rhubarb] is a [vegetable]."]),
            ("rhubarb plant", vec![]),
            (r#""is a veg""#, vec!["Rhubarb [is a veg]etable."]),
            (r#""a is""#, vec![]),
            ("Привет 大阪", vec!["That was no number. [Привет], [大阪]!"]),
            ("r%b", vec![]),
            ("rhubar_", vec![]),
        ] {
            assert_eq!(snippets(&found(&app, "/api/search", query).await), expected, "{query}");
        }
        // The query is a tool's name and a word of its error message.
        let error = call["error"].as_str().unwrap();
        let word = error.split_whitespace().last().unwrap();
        let hits = found(&app, "/api/search", &format!("add {word}")).await;
        assert_eq!(hits.len(), 1, "{word}");
        assert!(hits[0].tool_call_id.is_some());
    }

    async fn case_is_ignored_in_every_script(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        said(&app, &model, &conversation, "Ägypten, ΑΘΗΝΑ, Éclair", "Скажи Привіт, ПРИВІТ чи приВІТ. STRASSE").await;
        for (query, expected) in [
            ("привіт", vec!["Скажи [Привіт], [ПРИВІТ] чи [приВІТ]. STRASSE"]),
            ("ПРИВІТ скажи", vec!["[Скажи] [Привіт], [ПРИВІТ] чи [приВІТ]. STRASSE"]),
            ("ägypten", vec!["[Ägypten], ΑΘΗΝΑ, Éclair", "[Ägypten], ΑΘΗΝΑ, Éclair"]),
            ("éclair αθηνα", vec!["Ägypten, [ΑΘΗΝΑ], [Éclair]", "Ägypten, [ΑΘΗΝΑ], [Éclair]"]),
            ("agypten", vec![]),
        ] {
            assert_eq!(snippets(&found(&app, "/api/search", query).await), expected, "{query}");
        }
        let listed: Value = app.get("/api/conversations?q=%C3%A4gypten").await.json().await.unwrap();
        assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    }

    async fn matches_in_a_conversation_have_its_order(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (here, elsewhere) = (app.create_conversation().await, app.create_conversation().await);
        said(&app, &model, &elsewhere, "needle", "none").await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("A needle for 3.")]);
        app.send(&here, "First needle").await.all().await;
        for number in 0..30 {
            said(&app, &model, &here, &format!("Question {number}"), &format!("Needle {number}")).await;
        }
        let path = format!("/api/conversations/{here}/search");
        let first = page(&app, &path, "needle", None).await;
        assert_eq!((first.items.len(), first.complete), (20, true));
        let hits = found(&app, &path, "needle").await;
        let mut expected = vec!["First [needle]".to_owned(), "A [needle] for 3.".to_owned()];
        expected.extend((0..30).map(|number| format!("[Needle] {number}")));
        assert_eq!(snippets(&hits), expected);
        let hits = found(&app, "/api/search", "needle").await;
        expected.reverse();
        // The other question, and both titles, which are the first questions.
        expected.extend(["[needle]", "[needle]", "First [needle]"].map(str::to_owned));
        assert_eq!(snippets(&hits), expected);
    }

    async fn a_match_on_another_branch_is_marked(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        said(&app, &model, &conversation, "Hello", "The first needle").await;
        let answer = app.conversation(&conversation).await["messages"][1]["id"].as_i64().unwrap();
        model.reply([text("The second needle")]);
        let path = format!("/api/conversations/{conversation}/messages/{answer}/regenerate");
        crate::support::EventReader::new(app.post(&path, json!({})).await).all().await;
        for path in ["/api/search".to_owned(), format!("/api/conversations/{conversation}/search")] {
            let hits = found(&app, &path, "needle").await;
            let mut shown: Vec<_> = hits.iter().map(|hit| (snippet(hit), hit.shown)).collect();
            shown.sort();
            assert_eq!(shown, [("The first [needle]".to_owned(), false), ("The second [needle]".to_owned(), true)]);
        }
    }

    /// A match far into a long text is found, and only a short part of the text is sent. Control characters in that
    /// part are replaced.
    async fn a_snippet_is_short_and_harmless(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let long = format!("{}\u{1b}[2J <b>needle</b>\u{202e} {}", "words before ".repeat(20_000), "words after ".repeat(20_000));
        said(&app, &model, &conversation, "Hello", &long).await;
        let hits = found(&app, "/api/search", "NEEDLE").await;
        let cut = snippet(&hits[0]);
        assert!(cut.starts_with("…words before ") || cut.starts_with("…before words"), "{cut}");
        assert!(cut.contains("\u{fffd}[2J <b>[needle]</b>\u{fffd} words after") && cut.ends_with('…'), "{cut}");
        assert!(cut.chars().count() <= 162, "{cut}");
    }

    /// Pages do not overlap and leave nothing out, even if many messages were stored at the same moment.
    async fn pages_join_without_gaps(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        said(&app, &model, &conversation, "Go", "needle").await;
        for _ in 0..10 {
            execute!(app, "INSERT INTO messages (conversation_id, parent_id, role, content, status, created_at) \
                SELECT conversation_id, parent_id, role, content, status, created_at FROM messages \
                WHERE role = 'assistant'");
        }
        execute!(app, "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, step, position, \
            text_offset, started_at) SELECT id, 'c', 'needle', '{}', '{}', 0, 0, 0, created_at FROM messages");
        for path in ["/api/search".to_owned(), format!("/api/conversations/{conversation}/search")] {
            let hits = found(&app, &path, "needle").await;
            let mut places: Vec<_> = hits.iter().map(|hit| (hit.message_id, hit.tool_call_id)).collect();
            places.sort();
            places.dedup();
            // The 1024 answers, and one call of each of the 1025 messages.
            assert_eq!((hits.len(), places.len()), (2049, 2049), "{path}");
        }
    }

    /// The texts are larger than one batch, although there are few messages.
    async fn long_texts_are_searched_completely(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for number in 0..16 {
            said(&app, &model, &conversation, "Needle of mine", &format!("Needle {number}")).await;
        }
        let long = "words before ".repeat(30_000);
        execute!(app, sqlx::AssertSqlSafe(format!("UPDATE messages SET content = CONCAT('{long}', content)")));
        for path in ["/api/search".to_owned(), format!("/api/conversations/{conversation}/search")] {
            let mut places: Vec<_> = found(&app, &path, "needle").await.iter().map(|hit| hit.message_id).collect();
            places.sort();
            places.dedup();
            // The title matches, too, but it has no message id.
            assert_eq!(places.iter().flatten().count(), 32, "{path}");
        }
    }

    async fn invalid_queries_are_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for path in ["/api/search".to_owned(), format!("/api/conversations/{conversation}/search")] {
            assert_problem(app.get(&path).await, 400, "bad-query").await;
            for query in ["query=", "query=%20%22%22", &format!("query={}", "x".repeat(201)), "query=a+b+c+d+e+f+g+h+i"] {
                assert_problem(app.get(&format!("{path}?{query}")).await, 422, "invalid-input").await;
            }
            for cursor in ["", "x", "1.2", "1.2.3", "99999999999999999.1.1", "9999999999999999.1.1", "1700000000000000.1.x"] {
                assert_problem(app.get(&format!("{path}?query=a&cursor={cursor}")).await, 422, "invalid-input").await;
            }
            let nothing: Value = app.get_json(&format!("{path}?query=nothing&cursor=1700000000000000.-5.9")).await;
            assert_eq!(nothing, json!({"items": [], "next_cursor": null, "complete": true}));
        }
        let other = "/api/conversations/01890a5d-ac96-774b-bcce-b302099a8057/search?query=a";
        assert_problem(app.get(other).await, 404, "no-such-conversation").await;
    }
}
