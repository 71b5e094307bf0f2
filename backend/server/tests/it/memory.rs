//! Long conversations in the prompt: the newest messages, and a summary in place of the rest.

use reqwest::StatusCode;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_conversations::{
    MemorySettings,
    models::{ModelChoice, ModelEntry},
};
use tallybook_llm::{ModelSettings, tokens};
use tallybook_mock_llm::{CapturedRequest, MockLlm, text};
use tallybook_protocol::ChatEvent;
use tallybook_tools::ToolRegistry;

use crate::support::{Engine, EventReader, Pool, Provider, TestApp, eventually, on_every_engine, rows};

const SO_FAR: &str = "Summary of the conversation so far";

/// Query for the last answer that each summary covers.
const COVERED: &str = "SELECT message_id FROM conversation_summaries ORDER BY message_id";

/// Starts a server whose model has a context window of this number of tokens, of which it may write 500.
async fn start(engine: &Engine, model: &MockLlm, context_tokens: u32, memory: MemorySettings) -> TestApp {
    let settings = ModelSettings { context_tokens, max_tokens: 500, ..Provider::Anthropic.settings(model.url()) };
    TestApp::builder(engine)
        .with_mock(model)
        .with_tools(ToolRegistry::default())
        .with_settings(|all| {
            all.models = vec![ModelEntry::from_environment(ModelChoice::Provider(settings))];
            all.memory = memory;
        })
        .spawn()
        .await
}

/// Returns settings with which the server writes a summary after every answer.
fn after_every() -> MemorySettings {
    MemorySettings { after_tokens: Some(0), ..MemorySettings::default() }
}

/// Creates a conversation with 200 questions and their answers, directly in the database.
async fn write_long(app: &TestApp) -> String {
    let conversation = app.create_conversation().await;
    let [(key,)] = rows!(app, (i64,), "SELECT id FROM conversations")[..] else { panic!("there is one conversation") };
    let message = |id: i64| {
        let (number, parent) = ((id + 1) / 2, if id == 1 { "NULL".to_owned() } else { (id - 1).to_string() });
        let (role, words) = match id % 2 {
            1 => ("user", format!("Question {number}: how many are {number} and 1?")),
            _ => ("assistant", format!("Answer {number}: they are {}, as you can count.", number + 1)),
        };
        format!(
            "({id}, {key}, {parent}, '{role}', '{words}', 'complete', '2026-01-01 00:00:00', '2026-01-01 00:00:00')"
        )
    };
    let insert =
        "INSERT INTO messages (id, conversation_id, parent_id, role, content, status, created_at, completed_at)";
    let mut sql: Vec<String> = (0..8)
        .map(|part| (1..=50).map(|id| message(50 * part + id)).collect::<Vec<_>>().join(", "))
        .map(|values| format!("{insert} VALUES {values}"))
        .collect();
    sql.push("UPDATE conversations SET head_message_id = 400, title = 'Counting'".to_owned());
    let db = app.pool().await;
    for statement in sql {
        match &db {
            Pool::MySql(pool) => drop(sqlx::query(AssertSqlSafe(statement)).execute(pool).await.unwrap()),
            Pool::Sqlite(pool) => drop(sqlx::query(AssertSqlSafe(statement)).execute(pool).await.unwrap()),
        }
    }
    conversation
}

/// Waits until the newest summary covers the messages up to this answer, and no summary is being written.
async fn summarized_up_to(app: &TestApp, message: i64) {
    const NEWEST: &str = "SELECT COALESCE(MAX(s.message_id), 0) FROM conversation_summaries s";
    eventually("a summary is stored", async || rows!(app, (i64,), NEWEST) == [(message,)] && is_idle(app).await).await;
}

async fn newest_message(app: &TestApp) -> i64 {
    rows!(app, (i64,), "SELECT MAX(id) FROM messages")[0].0
}

/// Returns `true` if no summary is being written.
pub(crate) async fn is_idle(app: &TestApp) -> bool {
    rows!(app, (i64,), "SELECT COUNT(*) FROM conversations WHERE summary_until IS NOT NULL") == [(0,)]
}

fn is_for_summary(request: &CapturedRequest) -> bool {
    request.body["system"].to_string().contains("You keep the memory of a conversation")
}

/// Returns the newest request for a summary, or the newest one for an answer.
fn newest(model: &MockLlm, for_summary: bool) -> CapturedRequest {
    model.requests().into_iter().rev().find(|request| is_for_summary(request) == for_summary).unwrap()
}

fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        blocks => {
            blocks.as_array().unwrap().iter().filter_map(|block| block["text"].as_str().map(str::to_owned)).collect()
        }
    }
}

/// Returns the texts of a request's messages.
fn prompt(request: &CapturedRequest) -> Vec<String> {
    let messages = request.body["messages"].as_array().unwrap();
    messages.iter().map(|message| texts(&message["content"]).concat()).collect()
}

fn system(request: &CapturedRequest) -> String {
    texts(&request.body["system"]).join("\n")
}

fn prompt_tokens(request: &CapturedRequest) -> usize {
    tokens::of_text(&system(request)) + prompt(request).iter().map(|text| tokens::of_text(text) + 8).sum::<usize>()
}

async fn ask(app: &TestApp, conversation: &str, words: &str) -> i64 {
    let events = app.send(conversation, words).await.all().await;
    let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{:?}", events.last()) };
    end.assistant_message_id.0
}

on_every_engine! {
    async fn a_long_conversation_fits_the_context_window_with_its_summary(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model, 4000, MemorySettings::default()).await;
        let conversation = write_long(&app).await;
        // All replies are equal, so it does not matter how many of them are answers and how many are summaries.
        for _ in 0..30 {
            model.reply([text("They count on from 1.")]);
        }
        // Without a summary, the prompt contains as many messages as fit, and the page says so.
        let first = ask(&app, &conversation, "And 201 and 1?").await;
        let asked = &model.requests()[0];
        assert!(prompt_tokens(asked) <= 3500 && prompt(asked).len() > 80, "{}", prompt_tokens(asked));
        assert!(!system(asked).contains(SO_FAR));
        let message = app.conversation(&conversation).await["messages"][401].clone();
        assert_eq!(message["id"], first);
        assert!(message["told"]["from"].is_i64() && message["told"].get("summary").is_none(), "{message}");

        let covered = async || rows!(app, (i64,), COVERED);
        eventually("a summary is stored", async || {
            covered().await.last().is_some_and(|last| last.0 > 300) && is_idle(&app).await
        })
        .await;
        let summaries = covered().await;
        let for_summaries: Vec<_> = model.requests().into_iter().filter(is_for_summary).collect();
        assert_eq!(for_summaries.len(), summaries.len());
        for (number, request) in for_summaries.iter().enumerate() {
            assert_eq!((&request.body["temperature"], &request.body["max_tokens"]), (&json!(0.0), &json!(500)));
            assert!(request.body.get("tools").is_none() && prompt_tokens(request) <= 3500);
            let asked: Value = serde_json::from_str(&prompt(request)[0]).unwrap();
            assert_eq!(asked["summary"], if number == 0 { Value::Null } else { json!("They count on from 1.") });
            let first = format!("Question {}: how many", 20 * number + 1);
            assert!(asked["exchanges"][0]["question"].as_str().unwrap().starts_with(&first), "{asked}");
        }
        // The summaries do not cover the newest exchanges.
        assert!(summaries.last().unwrap().0 < 360, "{summaries:?}");

        // From here on the prompt contains the summary, and the messages that it does not cover.
        let second = ask(&app, &conversation, "And 202 and 1?").await;
        let asked = newest(&model, false);
        assert!(prompt_tokens(&asked) <= 3500, "{}", prompt_tokens(&asked));
        assert!(system(&asked).contains(SO_FAR) && system(&asked).ends_with("\"They count on from 1.\""), "{}", system(&asked));
        let page = app.conversation(&conversation).await;
        let message = page["messages"].as_array().unwrap().iter().find(|message| message["id"] == second).unwrap();
        assert_eq!(message["told"]["summary"], "They count on from 1.");
        let from = message["told"]["from"].as_i64().unwrap();
        assert!(summaries.contains(&(from - 1,)), "{from} of {summaries:?}");
        let first = &page["messages"][usize::try_from(from).unwrap() - 1];
        assert_eq!(prompt(&asked)[0], first["content"].as_str().unwrap());
        assert!(!asked.body_text.contains(&format!("Answer {}:", (from - 1) / 2)));
        assert_eq!(prompt(&asked).last().unwrap(), "And 202 and 1?");

        // The summary's calls count under their own purpose and not toward the turn's cost. Exported files contain the
        // summary.
        let month = app.get_json("/api/me").await["this_month"].clone();
        let summary = month.as_array().unwrap().iter().find(|row| row["purpose"] == "summary").unwrap();
        assert_eq!(summary["calls"], json!(model.requests().iter().filter(|request| is_for_summary(request)).count()));
        assert_eq!(message["usage"]["output_tokens"], 20);
        let file = app.get_json(&format!("/api/conversations/{conversation}/export?format=json")).await;
        assert_eq!(file["summaries"][0]["summary"], "They count on from 1.");
        let markdown = app.get(&format!("/api/conversations/{conversation}/export?format=markdown")).await.text().await.unwrap();
        let (before, after) = markdown.split_once("received this summary").unwrap();
        assert!(before.contains(&format!("Answer {}:", (from - 1) / 2)), "{before}");
        assert!(after.contains(&prompt(&asked)[0]), "{after}");
        let page = app.get(&format!("/admin/conversations/{conversation}?from=400")).await.text().await.unwrap();
        assert!(page.contains("Earlier messages were summarized") && page.contains("They count on from 1."), "{page}");
        model.assert_calls_paired();
    }

    /// A summary covers an answer and the messages that lead to it. Prompts on other branches do not contain it.
    async fn another_branch_does_not_use_the_summary(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model, 8000, after_every()).await;
        let conversation = app.create_conversation().await;
        for words in ["One.", "They said one.", "Two.", "They said two.", "Another.", "They said another."] {
            model.reply([text(words)]);
        }
        let first = ask(&app, &conversation, "First?").await;
        summarized_up_to(&app, first).await;
        let second = ask(&app, &conversation, "Second?").await;
        let asked = newest(&model, false);
        assert_eq!(prompt(&asked), ["Second?"]);
        assert!(system(&asked).ends_with("\"They said one.\""), "{}", system(&asked));
        let page = app.conversation(&conversation).await;
        assert_eq!(page["messages"][3]["told"], json!({"from": page["messages"][2]["id"], "summary": "They said one."}));
        summarized_up_to(&app, second).await;
        let asked: Value = serde_json::from_str(&prompt(&newest(&model, true))[0]).unwrap();
        let exchange = json!({"question": "Second?", "answer": "Two."});
        assert_eq!(asked, json!({"summary": "They said one.", "exchanges": [exchange]}));

        // An edit of the first question, before everything that was summarized.
        let body = json!({"content": "Anew?", "edit_of": page["messages"][0]["id"]});
        let edited = app.post(&format!("/api/conversations/{conversation}/messages"), body).await;
        EventReader::new(edited).all().await;
        let asked = newest(&model, false);
        assert_eq!((prompt(&asked), system(&asked).contains(SO_FAR)), (vec!["Anew?".to_owned()], false));
        let page = app.conversation(&conversation).await;
        assert!(page["messages"][1].get("told").is_none(), "{page}");
        summarized_up_to(&app, page["messages"][1]["id"].as_i64().unwrap()).await;
        let asked: Value = serde_json::from_str(&prompt(&newest(&model, true))[0]).unwrap();
        assert_eq!(asked["summary"], Value::Null);
    }

    /// The API client's messages are the history. If they continue from the last stored answer, the prompt also
    /// contains the summary.
    async fn an_api_clients_conversation_is_summarized_after_each_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model, 100_000, MemorySettings::default()).await;
        let user = |words: &str| json!({"role": "user", "content": words});
        let assistant = |words: &str| json!({"role": "assistant", "content": words});
        let post = async |name: &str, messages: Value| {
            let body = json!({"model": name, "messages": messages});
            let asked = app.client.post(app.url("/v1/chat/completions")).header("X-OpenWebUI-Chat-Id", "c-1").json(&body);
            assert_eq!(asked.send().await.unwrap().status(), StatusCode::OK);
        };
        for words in ["One.", "They said one.", "Two.", "They said two.", "Plain.", "Three.", "They said three."] {
            model.reply([text(words)]);
        }
        post("test-model", json!([user("First?")])).await;
        summarized_up_to(&app, newest_message(&app).await).await;
        post("test-model", json!([user("First?"), assistant("One."), user("Second?")])).await;
        let asked = newest(&model, false);
        assert_eq!(prompt(&asked), ["First?", "One.", "Second?"]);
        assert!(system(&asked).ends_with("\"They said one.\""), "{}", system(&asked));
        summarized_up_to(&app, newest_message(&app).await).await;
        post("test-model:plain", json!([user("Name it.")])).await;
        let requests = model.requests().len();
        // The request continues from a different answer, so the summary does not fit.
        post("test-model", json!([user("First?"), assistant("Eleven."), user("Third?")])).await;
        assert!(!model.requests()[requests].body_text.contains(SO_FAR));
        summarized_up_to(&app, newest_message(&app).await).await;
        let asked = model.requests();
        assert_eq!(asked.iter().filter(|request| is_for_summary(request)).count(), 3, "a direct model call has no summary");
        model.assert_calls_paired();
    }

    /// Summaries delay no turn. If one fails, the next answer's summary covers its messages, too.
    async fn one_summary_is_written_at_a_time_and_failed_ones_are_retried(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model, 8000, after_every()).await;
        // An SQLite database has only one server.
        let other = if engine.is_sqlite() { None } else { Some(start(&engine, &model, 8000, after_every()).await) };
        let other = other.as_ref().unwrap_or(&app);
        let conversation = app.create_conversation().await;
        model.reply([text("One.")]);
        let gate = model.reply_late([text("They said one.")]);
        let first = ask(&app, &conversation, "First?").await;
        model.requests_reached(2).await;
        model.reply([text("Two.")]);
        ask(other, &conversation, "Second?").await;
        // A later answer in another conversation is summarized. By then, a second summary of this conversation would
        // have been requested.
        let elsewhere = app.create_conversation().await;
        for words in ["Elsewhere.", "They are elsewhere."] {
            model.reply([text(words)]);
        }
        let later = ask(other, &elsewhere, "Where?").await;
        eventually("the other conversation has a summary", async || rows!(app, (i64,), COVERED) == [(later,)]).await;
        assert_eq!(model.requests().len(), 5, "no second summary of a conversation runs concurrently");
        gate.open();
        eventually("the first conversation has a summary, too", async || rows!(app, (i64,), COVERED) == [(first,), (later,)]).await;
        eventually("no summary is being written", async || is_idle(&app).await).await;

        model.reply([text("Three.")]);
        model.fail(500, "no");
        ask(other, &conversation, "Third?").await;
        model.requests_reached(7).await;
        eventually("the summary has failed", async || is_idle(&app).await).await;
        model.reply([text("Four.")]);
        // If a model rejects `temperature`, the request is sent again without it.
        model.fail(400, r#"{"error":{"message":"`temperature` is deprecated for this model"}}"#);
        model.reply([text("They counted to four.")]);
        let last = ask(&app, &conversation, "Fourth?").await;
        assert_eq!(prompt(&newest(&model, false)), ["Second?", "Two.", "Third?", "Three.", "Fourth?"]);
        summarized_up_to(&app, last).await;
        let asked: Value = serde_json::from_str(&prompt(&newest(&model, true))[0]).unwrap();
        assert_eq!(asked["summary"], "They said one.");
        assert_eq!(asked["exchanges"].as_array().unwrap().len(), 3);
        assert!(newest(&model, true).body.get("temperature").is_none());
        let failed = rows!(app, (i64,), "SELECT COUNT(*) FROM model_calls WHERE purpose = 'summary' AND error IS NOT \
                                         NULL");
        assert_eq!(failed, [(1,)], "a request that is sent again without the temperature doesn't count as failed");
    }

    /// If the prompt is too long, the server sends a shorter one once, before any text arrives. After that it reports
    /// an error.
    async fn a_prompt_over_the_models_limit_is_shortened_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model, 100_000, MemorySettings::OFF).await;
        let conversation = write_long(&app).await;
        let too_long = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 5000 maximum"}}"#;
        model.fail(400, too_long);
        model.reply([text("They are 202.")]);
        ask(&app, &conversation, "And 201 and 1?").await;
        let [first, second] = &model.requests()[..] else { panic!("the model is called twice") };
        assert_eq!(prompt(first).len(), 401);
        assert!(prompt(second).len() > 20 && prompt_tokens(second) <= 4500, "{}", prompt_tokens(second));
        let page = app.conversation(&conversation).await;
        let answer = &page["messages"][401];
        assert_eq!((&answer["content"], &answer["status"]), (&json!("They are 202."), &json!("complete")));
        let from = usize::try_from(answer["told"]["from"].as_i64().unwrap()).unwrap();
        assert_eq!(prompt(second)[0], page["messages"][from - 1]["content"].as_str().unwrap());

        // If the error does not name the limit, the server sends half of the messages. It does not try a third time.
        for _ in 0..2 {
            model.fail(400, r#"{"error":{"message":"the input length exceeds the context length"}}"#);
        }
        let events = app.send(&conversation, "And 202 and 1?").await.all().await;
        let Some(ChatEvent::Error(error)) = events.last() else { panic!("{:?}", events.last()) };
        assert_eq!(error.code, "model_context_too_long");
        assert!(error.error.starts_with("The message does not fit into the model's context window"), "{}", error.error);
        let requests = model.requests();
        let [.., whole, half] = &requests[..] else { panic!("the model is called twice") };
        let (half, whole) = (prompt(half).len(), prompt(whole).len());
        assert!(half > 150 && half < whole * 6 / 10, "{half}");

        // If the question alone is too long, the server does not try again.
        let alone = app.create_conversation().await;
        model.fail(400, too_long);
        let events = app.send(&alone, "Long?").await.all().await;
        assert!(matches!(events.last(), Some(ChatEvent::Error(error)) if error.code == "model_context_too_long"));
        assert_eq!((model.requests().len(), model.unused_replies()), (5, 0));
        let steps = rows!(app, (i32, Option<String>), "SELECT step, stop_reason FROM model_calls ORDER BY id");
        assert_eq!(steps[..2], [(0, None), (1, Some("end_turn".to_owned()))]);
    }
}
