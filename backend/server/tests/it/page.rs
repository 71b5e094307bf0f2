//! The page as the server renders it, before any script runs.

use reqwest::StatusCode;
use tallybook_mock_llm::{MockLlm, Reply, fault, text, tool_call};

use crate::support::{Engine, TestApp};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_is_readable_without_scripts() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    model.reply([tool_call("add", r#"{"a":12.5,"b":7.25}"#)]);
    model.reply([text("It is **19.75**, not <b>20</b>. [Why?](javascript:alert(1))")]);
    app.send(&conversation, "What is 12.5 + 7.25? <script>alert(1)</script>").await.all().await;
    let page = app.get(&format!("/c/{conversation}")).await;
    assert_eq!(page.status(), StatusCode::OK);
    // Without the markers that Leptos needs.
    let html = page.text().await.unwrap().replace("<!>", "");
    for shown in [
        "<strong>19.75",
        ", not &lt;b&gt;20&lt;/b&gt;. ",
        "&lt;script&gt;alert(1)",
        "data-testid=\"tool-call\"",
        "12.5",
    ] {
        assert!(html.contains(shown), "{shown} is missing in {html}");
    }
    assert!(!html.contains("<script>alert") && !html.contains("href=\"javascript"), "{html}");
    assert!(html.contains(&format!("/c/{conversation}")), "the sidebar links to it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_empty_chat_is_rendered_and_unknown_pages_are_not_found() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let home = app.get("/").await;
    assert_eq!(home.status(), StatusCode::OK);
    let html = home.text().await.unwrap();
    assert!(html.contains("data-testid=\"composer\"") && html.contains("test-model"), "{html}");
    for path in ["/c/01890a5d-ac96-774b-bcce-b302099a8057", "/c/nonsense", "/nowhere", "/pkg/nothing.js"] {
        assert_eq!(app.get(path).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_feed_names_the_servers_page() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let feed = app.get("/api/events").await;
    let folder = feed.headers()["tallybook-page"].to_str().unwrap();
    let html = app.get("/").await.text().await.unwrap();
    assert!(html.contains(&format!("href=\"{folder}/tallybook.css\"")), "{folder} is not in {html}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_response_has_its_own_script_nonce() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let mut nonces = Vec::new();
    for path in ["/", "/", "/c/01890a5d-ac96-774b-bcce-b302099a8057", "/c/nonsense", "/nowhere"] {
        let page = app.get(path).await;
        let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
        assert_eq!(page.headers()["cache-control"], "private, no-cache");
        let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap().to_owned();
        assert!(nonce.len() >= 22, "{policy}");
        let script = format!("script-src 'nonce-{nonce}' 'strict-dynamic' 'wasm-unsafe-eval';");
        assert!(policy.contains(&script) && policy.contains("style-src 'self';"), "{policy}");
        let html = page.text().await.unwrap();
        let data = html.matches("<script type=\"application/json\"").count();
        let ahead = html.matches("<link rel=\"modulepreload\"").count();
        assert_eq!((data, ahead), if path == "/nowhere" { (0, 0) } else { (1, 1) }, "{html}");
        let scripts = html.matches("<script").count() - data;
        assert_eq!(html.matches(&format!("nonce=\"{nonce}\"")).count(), scripts + ahead, "{html}");
        assert!(!html.contains(" style=") && !html.contains("<style"), "{html}");
        nonces.push(nonce);
    }
    nonces.sort();
    nonces.dedup();
    assert_eq!(nonces.len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_compressed_for_clients_that_accept_it() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for (accepted, encoding) in [("gzip, br", Some("gzip")), ("identity", None)] {
        let page = app.client.get(app.url("/")).header("accept-encoding", accepted).send().await.unwrap();
        assert_eq!(page.headers().get("content-encoding").map(|value| value.to_str().unwrap()), encoding);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_empty_and_truncated_answers_have_a_notice() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let sum = || tool_call("add", r#"{"a":1,"b":2}"#);
    let cases: [(Vec<Reply>, &str); 7] = [
        // prose-ok: a text of the page
        (vec![fault("refusal").unwrap()], "The model declined to answer."),
        (vec![fault("refusal_after_text").unwrap()], "The model declined to answer."),
        (vec![fault("nothing_to_say").unwrap()], "Finished with no output."),
        (vec![[text("Let me add."), sum()].into(), fault("nothing_to_say").unwrap()], "Finished with no output."),
        (vec![Reply::from([text("It is")]).stop_reason("max_tokens")], "This answer hit the length limit"),
        (vec![Reply::from([text("It is")]).stop_reason("cancelled")], "Reason: cancelled"),
        (vec![Reply::from([text("It is")]).stop_reason("MODEL_LENGTH")], "This answer hit the length limit"),
    ];
    for (replies, note) in cases {
        let conversation = app.create_conversation().await;
        let asked = model.requests().len() + replies.len();
        for reply in replies {
            model.reply(reply);
        }
        app.send(&conversation, "What is 1 + 2?").await.all().await;
        assert_eq!(model.requests().len(), asked, "no request is repeated");
        let html = app.get(&format!("/c/{conversation}")).await.text().await.unwrap();
        assert!(html.contains(note), "{note} is missing in {html}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_pages_list_has_every_pinned_conversation() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let oldest = app.create_conversation().await;
    let pin = serde_json::json!({"pinned": true, "title": "Oldest of all"});
    app.client.patch(app.url(&format!("/api/conversations/{oldest}"))).json(&pin).send().await.unwrap();
    for _ in 0..51 {
        app.create_conversation().await;
    }
    let html = app.get("/").await.text().await.unwrap();
    let place = |wanted: &str| html.find(wanted).unwrap_or_else(|| panic!("{wanted} is missing in {html}"));
    assert!(place(">Pinned<") < place("Oldest of all") && place("Oldest of all") < place(">Today<"));
}
