//! The index of the search: a search finds the same with it as without it, and it contains only what is stored.

use serde_json::json;
use sqlx::AssertSqlSafe;
use tallybook_conversations::index_all_messages;
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};
use tallybook_protocol::SearchPage;

use super::{found, page, said, snippets};
use crate::{
    operator_commands::{admin, said as printed},
    support::{Engine, TestApp, eventually, execute, on_every_engine, rows},
};

/// Texts of messages, in several scripts and with letters of unusual cases.
const TEXTS: [&str; 16] = [
    "A needle in a haystack, and a NEEDLE elsewhere.",
    "Needles are sewn; haystacks are not.",
    "大阪城へ行きたい。京都でもいい。",
    "東京タワーの高さは333メートル、ver.2の話。",
    "Скажи Привіт, ПРИВІТ чи приВІТ.",
    "ΑΘΗΝΑΣ and Αθήνας and αθηνας",
    "İstanbul, ISTANBUL, istanbul and ıstanbul",
    "Straße, STRASSE and STRAẞE; ſtrange Åse (U+212B) and 273 K",
    "ǅungla, Ǆungla, ǆungla; ᲀода, Ⴀნა, Ꭰꭰ",
    "fn foo_bar(baz: &str) -> Result<(), Error> { todo!() }",
    "100% of 5 + 5_000 = [x]; \\\\server\\share!",
    "한국어를 배우다",
    "emoji 🙂🙃 and a̐éö combined",
    "two  words and two words",
    "ok",
    "é",
];

/// Searches with hits in these texts, and without.
const SEARCHES: [&str; 50] = [
    "needle",
    "NEEDLE",
    "eedl",
    "needles",
    "needle haystack",
    "haystack needle elsewhere",
    "\"a needle\"",
    "needle nothing",
    "大阪",
    "阪",
    "大阪城へ行",
    "城へ 京都",
    "京阪",
    "タワー",
    "ver.2の",
    "2の",
    "333",
    "привіт",
    "ПРИВІТ",
    "ивіт",
    "αθηνας",
    "ΑΘΗΝΑΣ",
    "αθήνας",
    "istanbul",
    "İstanbul",
    "ISTANBUL",
    "ıstanbul",
    "straße",
    "STRAẞE",
    "strasse",
    "ſtrange",
    "strange",
    "åse",
    "Åse",
    "273 k",
    "Kelvin",
    "ǆungla",
    "ǅUNGLA",
    "вода",
    "ꭰꭰ",
    "foo_bar(",
    "&str)",
    "100%",
    "5_000",
    "\\server",
    "국어",
    "🙂",
    "a",
    "\"two  words\"",
    "é",
];

/// Searches for the inputs, outputs, errors and names of tool calls.
const CALL_SEARCHES: [&str; 7] =
    ["rhubarb", "call_needle", "lookup rhubarb", "output", "broken pipe", "大黄", "lookup nothing"];

/// Writes the texts as messages of a conversation, and others with more text.
async fn write(engine: &Engine, app: &TestApp, model: &MockLlm) {
    let conversation = app.create_conversation().await;
    said(app, model, &conversation, "Go", "Gone").await;
    let insert = |content: &str| {
        let content = content.replace('\'', "''");
        format!(
            "INSERT INTO messages (conversation_id, parent_id, role, content, status, created_at, completed_at) \
             SELECT conversation_id, parent_id, role, '{content}', status, created_at, completed_at FROM messages \
             WHERE content = 'Gone'"
        )
    };
    let mut statements: Vec<String> = TEXTS.iter().map(|text| insert(text)).collect();
    // More than a page of hits, in texts of several columns.
    for number in 0..30_u64 {
        let words = (0..400).map(|word| format!("w{:x}", (number * 1000 + word).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        statements.push(insert(&format!("{} needle {number} 大阪", words.collect::<Vec<_>>().join(" "))));
    }
    for (name, input, output, error) in [
        ("lookup", "{\"of\":\"rhubarb\"}", Some("The output, with a call_needle."), None),
        ("lookup", "{\"of\":\"大黄\"}", None, Some("A broken pipe")),
    ] {
        let quoted = |text: Option<&str>| text.map_or("NULL".to_owned(), |text| format!("'{text}'"));
        statements.push(format!(
            "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, output, error, status, step, \
             position, text_offset, started_at) SELECT id, 'c', '{name}', '{{}}', '{input}', {}, {}, 'success', 0, \
             {}, 0, created_at FROM messages WHERE content = 'Gone'",
            quoted(output), quoted(error), i32::from(error.is_some())
        ));
    }
    for statement in statements {
        execute!(app, AssertSqlSafe(statement.replace('\\', if engine.is_sqlite() { "\\" } else { "\\\\" })));
    }
}

/// Returns all pages of a search.
async fn pages(app: &TestApp, query: &str) -> Vec<SearchPage> {
    let mut pages = vec![page(app, "/api/search", query, None).await];
    while let Some(cursor) = pages.last().and_then(|page| page.next_cursor.clone()) {
        pages.push(page(app, "/api/search", query, Some(&cursor)).await);
    }
    pages
}

/// Indexes all messages.
async fn index(engine: &Engine) {
    let db = engine.database().await;
    index_all_messages(&db).await.unwrap();
    db.close().await;
}

/// Counts the rows of the index.
async fn count_rows(engine: &Engine) -> (i64, i64, i64) {
    let count = "SELECT (SELECT COUNT(*) FROM search_blocks), (SELECT COUNT(*) FROM search_messages), \
        (SELECT COUNT(*) FROM search_bits)";
    rows!(engine, (i64, i64, i64), count)[0]
}

on_every_engine! {
    async fn a_search_finds_the_same_with_the_index(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        write(&engine, &app, &model).await;
        let searches: Vec<&str> = SEARCHES.iter().chain(&CALL_SEARCHES).copied().collect();
        let mut expected = Vec::new();
        for search in &searches {
            expected.push(pages(&app, search).await);
        }
        let hits = |pages: &[SearchPage]| pages.iter().map(|page| page.items.len()).sum::<usize>();
        assert!(expected.iter().filter(|pages| hits(pages) > 0).count() > 45);
        assert!(expected.iter().any(|pages| pages.len() > 1));
        index(&engine).await;
        let (blocks, messages, _) = count_rows(&engine).await;
        assert_eq!((blocks, messages), (1, 48));
        for (search, expected) in searches.iter().zip(&expected) {
            assert_eq!(&pages(&app, search).await, expected, "{search}");
        }
        // Without its bits, the index excludes every message, but not short words and titles.
        execute!(engine, "UPDATE search_bits SET bits = X'00'");
        for (search, count) in [("needle", 0), ("大阪", 0), ("rhubarb", 0), ("ok", 3)] {
            assert_eq!(found(&app, "/api/search", search).await.len(), count, "{search}");
        }
    }

    async fn messages_are_found_before_they_are_indexed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        said(&app, &model, &conversation, "Something indexed", "Yes.").await;
        model.reply([text("An unfinished answer"), hang()]);
        let stopped = app.create_conversation().await;
        let mut turn = app.send(&stopped, "Resume me").await;
        turn.until("content_delta").await;
        app.post(&format!("/api/conversations/{stopped}/stop"), json!({})).await;
        while turn.next().await.is_some() {}
        index(&engine).await;
        assert_eq!(count_rows(&engine).await.1, 4);

        said(&app, &model, &conversation, "A fresh question", "A fresh answer").await;
        assert_eq!(snippets(&found(&app, "/api/search", "fresh").await), ["A [fresh] answer", "A [fresh] question"]);
        model.reply([text("A different ending")]);
        app.continue_turn(&stopped).await.all().await;
        assert_eq!(snippets(&found(&app, "/api/search", "different").await), ["A [different] ending"]);
        let url = app.url(&format!("/api/conversations/{conversation}"));
        let renamed = app.client.patch(url).json(&json!({"title": "Renamed meanwhile"})).send().await.unwrap();
        assert_eq!(renamed.status(), 200);
        assert_eq!(snippets(&found(&app, "/api/search", "renamed").await), ["[Renamed] meanwhile"]);
        assert_eq!(snippets(&found(&app, "/api/search", "indexed").await), ["Something [indexed]"]);

        index(&engine).await;
        // The resumed answer is in two blocks, with its former text and with its text.
        assert_eq!(count_rows(&engine).await.1, 7);
        assert_eq!(snippets(&found(&app, "/api/search", "different").await), ["A [different] ending"]);
        assert_eq!(found(&app, "/api/search", "unfinished").await.len(), 0);
        let marked = "SELECT COUNT(*) FROM conversations WHERE search_indexed_at = updated_at";
        assert_eq!(rows!(engine, (i64,), marked), [(2,)]);
    }

    /// A purge deletes the blocks of its conversation. Other conversations in these blocks are indexed again.
    async fn a_purge_leaves_no_rows(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_settings(|settings| settings.retention_days = 0.0)
            .spawn()
            .await;
        let (kept, deleted) = (app.create_conversation().await, app.create_conversation().await);
        said(&app, &model, &kept, "Keep the needle", "Kept.").await;
        said(&app, &model, &deleted, "Delete the needle", "Deleted.").await;
        index(&engine).await;
        assert_eq!(count_rows(&engine).await, (1, 4, 4096));
        app.delete(&deleted).await;
        eventually("it is purged", async || rows!(engine, (i64,), "SELECT COUNT(*) FROM conversations") == [(1,)]).await;
        assert_eq!(count_rows(&engine).await, (0, 0, 0));
        let expected = ["Keep the [needle]", "Keep the [needle]"];
        assert_eq!(snippets(&found(&app, "/api/search", "needle").await), expected);
        index(&engine).await;
        assert_eq!(count_rows(&engine).await, (1, 2, 4096));
        assert_eq!(snippets(&found(&app, "/api/search", "needle").await), expected);
        let (fits, words) = printed(&admin(&engine, &model, &["check"]));
        assert!(fits, "{words}");
    }

    /// Each message is in one block, although two replicas index at the same time.
    async fn two_replicas_index_each_message_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        write(&engine, &app, &model).await;
        let expected = pages(&app, "needle").await;
        let (one, two) = (engine.database().await, engine.database().await);
        let (first, second) = tokio::join!(index_all_messages(&one), index_all_messages(&two));
        first.and(second).unwrap();
        index(&engine).await;
        assert_eq!(count_rows(&engine).await, (1, 48, 4096));
        assert_eq!(pages(&app, "needle").await, expected);
        one.close().await;
        two.close().await;
    }

    /// A copied conversation has its own messages and copied calls in the index.
    async fn copied_calls_are_indexed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let original = app.create_conversation().await;
        model.reply([tool_call("add", r#"{"a":1,"b":"rhubarb"}"#)]);
        model.reply([text("Done.")]);
        app.send(&original, "Go").await.all().await;
        let answer = app.conversation(&original).await["messages"][1]["id"].clone();
        let path = format!("/api/conversations/{original}/fork");
        assert_eq!(app.post(&path, json!({"message_id": answer})).await.status(), 201);
        let expected = pages(&app, "rhubarb").await;
        assert_eq!(expected[0].items.len(), 2);
        index(&engine).await;
        assert_eq!(count_rows(&engine).await.1, 4);
        assert_eq!(pages(&app, "rhubarb").await, expected);
    }

    /// Many small blocks are replaced by one.
    async fn small_blocks_are_merged(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for number in 0..4 {
            said(&app, &model, &conversation, &format!("Question {number}"), "The needle").await;
            index(&engine).await;
            assert_eq!(count_rows(&engine).await.0, number + 1);
        }
        let expected = pages(&app, "needle").await;
        assert_eq!(expected[0].items.len(), 4);
        index(&engine).await;
        assert_eq!(count_rows(&engine).await, (1, 8, 4096));
        assert_eq!(pages(&app, "needle").await, expected);
    }
}
