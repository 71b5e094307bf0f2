//! Models that admins add while the server runs: their keys, their precedence, changes by two admins, restarts, other
//! servers of the database, and tests of a model. `accounts::rights` says who may do this.

use std::{
    io::ErrorKind,
    net::SocketAddr,
    path::PathBuf,
    pin::pin,
    time::{Duration, Instant},
};

use reqwest::{Method, Response, header};
use serde_json::{Value, json};
use tallybook_conversations::models::{ModelChoice, ModelEntry, Origin};
use tallybook_mock_llm::{CapturedRequest, MockLlm, Reply, WRONG_KEY, hang, text, tool_call};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpListener,
};

use crate::{
    bad_input::assert_problem,
    secrets::assert_not_kept,
    server_settings::{ROUNDS, send_at_once},
    support::{AppBuilder, Engine, Provider, TestApp, eventually, on_every_engine, rows},
};

/// An API key that occurs nowhere by chance. `assert_not_kept` looks for its last part, too.
pub(crate) const KEY: &str = "sk-added-5up3r";

/// Starts building a server that has only the demo model.
pub(crate) fn demo_only(engine: &Engine) -> AppBuilder<'_> {
    let pace = std::time::Duration::ZERO;
    TestApp::builder(engine).with_models(vec![ModelEntry::from_environment(ModelChoice::Demo { pace })])
}

/// Returns the body that adds a model of this server.
pub(crate) fn body(name: &str, model: &MockLlm) -> Value {
    json!({"name": name, "provider": "openai", "model": "test-model", "base_url": format!("{}/v1", model.url()), "api_key": KEY})
}

/// Returns the API key that a request carries.
pub(crate) fn key_of(request: &CapturedRequest) -> &str {
    request.header("authorization").unwrap().strip_prefix("Bearer ").unwrap()
}

/// Asserts that a request was refused, and returns the reason.
pub(crate) async fn reason(response: Response, status: u16, kind: &str) -> String {
    assert_problem(response, status, kind).await["detail"].as_str().unwrap().to_owned()
}

pub(crate) async fn request(app: &TestApp, method: Method, path: &str, body: Value) -> Response {
    app.client.request(method, app.url(path)).json(&body).send().await.unwrap()
}

/// Starts a server that answers each request with these bytes, and keeps the connection open. Returns its address.
async fn server_that_sends(bytes: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            let mut connection = BufReader::new(connection);
            let mut line = String::new();
            while connection.read_line(&mut line).await.is_ok_and(|length| length > 2) {
                line.clear();
            }
            connection.write_all(bytes.as_bytes()).await.unwrap();
            open.push(connection);
        }
    });
    address
}

pub(crate) async fn add(app: &TestApp, body: Value) -> Value {
    let added = request(app, Method::POST, "/api/admin/models", body).await;
    assert_eq!(added.status(), 201, "{}", added.text().await.unwrap());
    added.json().await.unwrap()
}

/// Returns the names of the models that users can choose, the default marked.
pub(crate) async fn offered(app: &TestApp) -> Vec<String> {
    let models = app.get_json("/api/models").await;
    let items = models["items"].as_array().unwrap().iter();
    items
        .map(|model| {
            format!("{}{}", model["name"].as_str().unwrap(), if model["is_default"] == true { "*" } else { "" })
        })
        .collect()
}

on_every_engine! {
    async fn a_model_is_added_used_changed_and_removed_without_a_restart(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let conversation = app.create_conversation().await;
        let added = add(&app, body("Added", &model)).await;
        let expected = json!({"name": "Added", "origin": "page", "has_key": true, "is_default": true, "provider": "openai"});
        for (field, value) in expected.as_object().unwrap() {
            assert_eq!(&added[field], value, "{field}");
        }
        assert_eq!(offered(&app).await, ["demo", "Added*"]);

        model.reply([text("Here I am.")]);
        let events = app.send(&conversation, "Are you there?").await.all().await;
        assert!(format!("{events:?}").contains("Here I am."), "{events:?}");
        let sent = model.requests().pop().unwrap();
        assert_eq!(key_of(&sent), KEY);

        let path = "/api/admin/models/Added";
        let changed = request(&app, Method::PATCH, path, json!({"temperature": 0.5, "tool_mode": "native"})).await;
        assert_eq!(changed.status(), 200);
        let tag = changed.headers()[header::ETAG].clone();
        let changed: Value = changed.json().await.unwrap();
        assert_eq!((&changed["temperature"], &changed["has_key"]), (&json!(0.5), &json!(true)));
        assert_ne!(changed["version"], added["version"]);
        model.reply([text("Warmer.")]);
        app.send(&conversation, "And now?").await.all().await;
        let sent = model.requests().pop().unwrap();
        assert_eq!((&sent.body["temperature"], key_of(&sent)), (&json!(0.5), KEY));
        let cleared: Value = request(&app, Method::PATCH, path, json!({"temperature": null})).await.json().await.unwrap();
        assert_eq!(cleared.get("temperature"), None);

        let stale = app.client.delete(app.url(path)).header(header::IF_MATCH, tag).send().await.unwrap();
        assert_problem(stale, 412, "version-changed").await;
        assert_eq!(request(&app, Method::DELETE, path, json!({})).await.status(), 204);
        assert_eq!(offered(&app).await, ["demo*"]);
        assert_problem(app.get(path).await, 404, "no-such-model").await;

        let log = rows!(app, (String, String), "SELECT action, subject FROM audit_log WHERE action LIKE 'model_%' ORDER BY id");
        let actions: Vec<&str> = log.iter().map(|(action, _)| action.as_str()).collect();
        assert_eq!(actions, ["model_added", "model_changed", "model_changed", "model_removed"]);
        assert!(log.iter().all(|(_, subject)| subject == "Added"));
        assert_not_kept(&engine, KEY).await;
    }

    async fn an_added_model_survives_a_restart_but_not_the_loss_of_the_key(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).spawn().await;
        add(&app, body("Added", &model)).await;
        add(&app, json!({"name": "Keyless", "provider": "openai", "base_url": model.url()})).await;
        assert_not_kept(&engine, KEY).await;
        app.shut_down().await;

        let app = demo_only(&engine).spawn().await;
        assert_eq!(offered(&app).await, ["demo", "Added*", "Keyless"]);
        model.reply([text("Still here.")]);
        let conversation = app.create_conversation().await;
        app.send(&conversation, "Are you there?").await.all().await;
        assert_eq!(key_of(&model.requests().pop().unwrap()), KEY);
        app.shut_down().await;

        let app = demo_only(&engine)
            .with_settings(|settings| settings.secret_key = Some("another secret key of 32 characters".into()))
            .spawn()
            .await;
        assert_eq!(offered(&app).await, ["demo", "Keyless*"]);
        let lost = app.get_json("/api/admin/models/Added").await;
        assert!(lost["problem"].as_str().unwrap().contains("SECRET_KEY"), "{lost}");
        let again = request(&app, Method::PATCH, "/api/admin/models/Added", json!({"api_key": KEY})).await;
        assert_eq!(again.status(), 200);
        assert_eq!(offered(&app).await, ["demo", "Added*", "Keyless"]);
    }

    async fn a_model_of_the_settings_file_has_precedence(engine: Engine) {
        let (ours, theirs) = (MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap());
        let app = demo_only(&engine).spawn().await;
        add(&app, body("Sonnet", &theirs)).await;
        app.shut_down().await;
        let choice = ModelChoice::Provider(Provider::Anthropic.settings(ours.url()));
        let entry = ModelEntry { name: "Sonnet".to_owned(), choice, prices: None, vision: false, origin: Origin::Environment };
        let app = TestApp::builder(&engine).with_models(vec![entry]).spawn().await;
        assert_eq!(offered(&app).await, ["Sonnet*"]);
        let listed = app.get_json("/api/admin/models").await;
        let origins: Vec<&Value> = listed["items"].as_array().unwrap().iter().map(|model| &model["origin"]).collect();
        assert_eq!(origins, ["file", "page"]);
        assert!(listed["items"][1]["problem"].as_str().unwrap().contains("same name"), "{listed}");
        assert!(!listed.to_string().contains("sk-"), "{listed}");
        for (method, path) in [(Method::PATCH, "/api/admin/models/Sonnet"), (Method::POST, "/api/admin/models")] {
            assert_problem(request(&app, method, path, body("Sonnet", &theirs)).await, 409, "set-in-file").await;
        }
        ours.reply([text("From the file.")]);
        let conversation = app.create_conversation().await;
        app.send(&conversation, "Who are you?").await.all().await;
        assert_eq!((ours.requests().len(), theirs.requests().len()), (1, 0));
        // The added model can be removed, but not the one of the file.
        let remove = || request(&app, Method::DELETE, "/api/admin/models/Sonnet", json!({}));
        assert_eq!(remove().await.status(), 204);
        assert_problem(remove().await, 409, "set-in-file").await;
        assert_eq!(offered(&app).await, ["Sonnet*"]);
    }

    /// The two admins use different servers, where the engine allows a second one.
    async fn of_two_changes_of_a_model_at_once_one_is_stored(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let other = if engine.is_sqlite() { None } else { Some(demo_only(&engine).spawn().await) };
        let other = other.as_ref().unwrap_or(&app);
        add(&app, body("Added", &model)).await;
        let path = "/api/admin/models/Added";
        for round in 1..=ROUNDS {
            let version = app.get(path).await.headers()[header::ETAG].clone();
            let change = |app: &TestApp, patch: Value| app.client.patch(app.url(path)).json(&patch);
            let changes = [change(&app, json!({"max_tokens": round})), change(other, json!({"context_tokens": 10_000 + round}))];
            send_at_once(changes, &version).await;
        }
        let log = rows!(app, (i64,), "SELECT COUNT(*) FROM audit_log WHERE action = 'model_changed'");
        assert_eq!(usize::try_from(log[0].0).unwrap(), ROUNDS);
    }

    async fn settings_that_are_not_valid_are_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let with = |field: &str, value: Value| {
            let mut body = body("Added", &model);
            body[field] = value;
            body
        };
        for (wrong, words) in [
            (with("name", json!("test")), "name"),
            (with("name", json!(" x")), "1 to 100 characters"),
            (with("provider", json!("acme")), "not a model provider"),
            (with("base_url", json!("http://169.254.169.254/")), "link-local"),
            (with("base_url", json!("ftp://example.org")), "http"),
            (with("temperature", json!(3)), "0 to 2"),
            (with("api_key", json!("line\nbreak")), "line breaks"),
            (with("api_key_env", json!("HOME")), "api_key_env"),
            (with("input_price", json!(1)), "together"),
            (with("quirks", json!({"no_such": true})), "no_stop"),
            (json!({"name": "Added", "provider": "openai"}), "requires an API key"),
        ] {
            let refused = request(&app, Method::POST, "/api/admin/models", wrong.clone()).await;
            let detail = reason(refused, 422, "invalid-model").await;
            assert!(detail.contains(words), "{wrong}: {detail}");
        }
        add(&app, body("Added", &model)).await;
        assert_problem(request(&app, Method::POST, "/api/admin/models", body("Added", &model)).await, 409, "name-taken").await;
        let path = "/api/admin/models/Added";
        for change in [json!({"base_url": "http://127.0.0.1:9/v1"}), json!({"name": "Other"}), json!({"max_tokens": 0})] {
            assert_problem(request(&app, Method::PATCH, path, change).await, 422, "invalid-model").await;
        }
        assert_eq!(app.get_json(path).await["base_url"], body("Added", &model)["base_url"]);
    }

    async fn a_running_turn_keeps_a_model_that_is_removed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).spawn().await;
        add(&app, body("Added", &model)).await;
        let conversation = app.create_conversation().await;
        let gate = model.reply_gated([text("It ")], [text("goes on.")]);
        let mut events = app.send(&conversation, "Go on").await;
        events.until_text("It ").await;
        assert_eq!(request(&app, Method::DELETE, "/api/admin/models/Added", json!({})).await.status(), 204);
        gate.open();
        let rest = events.all().await;
        assert!(format!("{rest:?}").contains("goes on."), "{rest:?}");
    }

    async fn a_test_shows_the_answer_and_what_the_model_can_do(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let test = |body: Value| request(&app, Method::POST, "/api/admin/models/test", body);
        let call = || [tool_call("add", r#"{"a":"2","b":"3"}"#)];
        model.reply([text(format!("ready, {KEY}"))]);
        model.reply(call());
        model.reply([text("Red.")]);
        let begin = Instant::now();
        let passed: Value = test(body("New", &model)).await.json().await.unwrap();
        assert!(passed["ms"].as_u64().is_some_and(|ms| u128::from(ms) <= begin.elapsed().as_millis()), "{passed}");
        assert_eq!((&passed["ok"], &passed["text"], &passed["tools"], &passed["vision"]), (&json!(true), &json!("ready, [hidden]"), &json!("native"), &json!(true)));
        // A server that takes tools, and does not show them to the model.
        for answer in ["ready", "5", "Red."] {
            model.reply([text(answer)]);
        }
        let passed: Value = test(body("New", &model)).await.json().await.unwrap();
        assert_eq!((&passed["ok"], &passed["tools"]), (&json!(true), &json!("unknown")));
        // A server that takes no tools, and drops pictures without a word.
        model.fail(400, r#"{"error":{"message":"test-model does not support tools"}}"#);
        model.reply([text("ready")]);
        model.reply([text(r#"<tool_call>{"name": "add", "arguments": {"a": "2", "b": "3"}}</tool_call>"#)]);
        model.reply([text("I see no picture.")]);
        let passed: Value = test(body("New", &model)).await.json().await.unwrap();
        assert_eq!((&passed["tools"], &passed["vision"]), (&json!("prompted"), &json!(false)));
        let mut wrong = body("New", &model);
        wrong["api_key"] = json!(WRONG_KEY);
        let failed: Value = test(wrong).await.json().await.unwrap();
        let error = failed["error"].as_str().unwrap();
        assert!(failed["ok"] == false && error.contains("rejected the API key") && !error.contains(WRONG_KEY), "{failed}");
        // Nothing was added, and the demo model can be tested as well.
        assert_eq!(offered(&app).await, ["demo*"]);
        let demo: Value = request(&app, Method::POST, "/api/admin/models/demo/test", json!({})).await.json().await.unwrap();
        assert_eq!(demo["ok"], true, "{demo}");
    }

    /// A stored key is used for changes that are not stored, and only with the stored address.
    async fn the_stored_key_tests_changes_and_lists_models(engine: Engine) {
        let (model, other) = (MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap());
        let app = demo_only(&engine).spawn().await;
        add(&app, body("Added", &model)).await;
        let test = |changes: Value| request(&app, Method::POST, "/api/admin/models/Added/test", changes);
        model.reply([text("ready")]);
        let passed: Value = test(json!({"model": "other-model"})).await.json().await.unwrap();
        assert_eq!(passed["ok"], true, "{passed}");
        let asked = model.requests().into_iter().next().unwrap();
        assert_eq!((&asked.body["model"], key_of(&asked)), (&json!("other-model"), KEY));
        assert_eq!(app.get_json("/api/admin/models/Added").await["model"], "test-model", "nothing is stored");
        let discover = |url: &str, name: &str| {
            let asked = json!({"provider": "openai", "base_url": format!("{url}/v1"), "name": name});
            request(&app, Method::POST, "/api/admin/models/discover", asked)
        };
        model.offer(json!({"data": [{"id": "one"}]}));
        let listed: Value = discover(&model.url(), "Added").await.json().await.unwrap();
        assert_eq!(listed["items"][0]["model"], "one", "{listed}");
        let mut wrong = body("Wrong", &model);
        wrong["api_key"] = json!(WRONG_KEY);
        add(&app, wrong).await;
        let detail = reason(discover(&model.url(), "Wrong").await, 502, "model-unreachable").await;
        assert!(detail.contains("rejected the API key"), "{detail}");
        for refused in [test(json!({"base_url": other.url()})).await, discover(&other.url(), "Added").await] {
            let detail = reason(refused, 422, "invalid-model").await;
            assert!(detail.contains("api_key is not sent to another server"), "{detail}");
        }
        assert!(other.requests().is_empty(), "the key was sent elsewhere");
        assert_problem(discover(&model.url(), "Missing").await, 404, "no-such-model").await;
        let of_file = request(&app, Method::POST, "/api/admin/models/demo/test", json!({"temperature": 1})).await;
        assert_problem(of_file, 409, "set-in-file").await;
    }

    async fn a_test_follows_no_redirect_and_ends_without_an_answer(engine: Engine) {
        let (model, other) = (MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap());
        let app = demo_only(&engine)
            .with_settings(|settings| settings.model_defaults.idle_timeout = Duration::from_millis(300))
            .spawn()
            .await;
        add(&app, body("Added", &model)).await;
        for path in ["/api/admin/models/test", "/api/admin/models/Added/test"] {
            let test = async || {
                let failed: Value = request(&app, Method::POST, path, body("New", &model)).await.json().await.unwrap();
                assert_eq!(failed["ok"], false, "{failed}");
                (failed["error"].as_str().unwrap().to_owned(), failed["ms"].as_u64().unwrap())
            };
            model.reply(Reply::fail(302, "").header("location", format!("{}/v1/chat/completions", other.url())));
            let (error, _) = test().await;
            assert!(error.contains("redirects to another URL"), "{error}");
            assert!(other.requests().is_empty(), "the redirect was followed");
            let before = model.requests().len();
            let gate = model.reply_late([text("Too late.")]);
            let begin = Instant::now();
            let (error, ms) = test().await;
            assert!(error.contains("sent nothing for"), "{error}");
            assert!(ms >= 300 && u128::from(ms) <= begin.elapsed().as_millis(), "{ms} ms until the timeout");
            gate.abandoned().await;
            assert_eq!(model.requests().len(), before + 1, "a test is not retried");
        }
        let mut link_local = body("New", &model);
        link_local["base_url"] = json!("http://169.254.169.254/v1");
        let refused = request(&app, Method::POST, "/api/admin/models/test", link_local).await;
        assert!(reason(refused, 422, "invalid-model").await.contains("link-local"));
    }

    async fn a_list_of_models_follows_no_redirect_and_ends_without_an_answer(engine: Engine) {
        let app = demo_only(&engine)
            .with_settings(|settings| settings.model_defaults.idle_timeout = Duration::from_millis(300))
            .spawn()
            .await;
        let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        elsewhere.set_nonblocking(true).unwrap();
        let discover = async |server: &SocketAddr| {
            let asked = json!({"provider": "openai", "base_url": format!("http://{server}/v1"), "api_key": KEY});
            reason(request(&app, Method::POST, "/api/admin/models/discover", asked).await, 502, "model-unreachable").await
        };
        let location = elsewhere.local_addr().unwrap();
        let head = format!("HTTP/1.1 302 Found\r\nlocation: http://{location}/v1/models\r\ncontent-length: 0\r\n\r\n");
        let error = discover(&server_that_sends(head).await).await;
        assert!(error.contains("redirects to another URL"), "{error}");
        assert_eq!(elsewhere.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "the redirect was followed");
        let error = discover(&server_that_sends(String::new()).await).await;
        assert!(error.contains("sent nothing for"), "{error}");
        drop(elsewhere);
        let optional = json!({"provider": "ollama", "base_url": format!("http://{location}/v1"), "optional": true});
        let none = request(&app, Method::POST, "/api/admin/models/discover", optional).await;
        assert_eq!((none.status().as_u16(), none.json::<Value>().await.unwrap()), (200, json!({"items": []})));
    }

    async fn the_number_of_tests_at_the_same_time_is_limited(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let test = || request(&app, Method::POST, "/api/admin/models/test", body("New", &model));
        for _ in 0..4 {
            model.reply([hang()]);
        }
        let mut waiting = pin!(async { tokio::join!(test(), test(), test(), test()) });
        let refused = async {
            model.requests_reached(4).await;
            assert_problem(test().await, 503, "busy").await;
        };
        tokio::select! {
            _ = &mut waiting => panic!("the tests wait for the model"),
            () = refused => {}
        }
    }

    async fn a_provider_lists_its_models(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).spawn().await;
        let discover = |body: Value| request(&app, Method::POST, "/api/admin/models/discover", body);
        let asked = |provider: &str, key: &str| json!({"provider": provider, "base_url": model.url(), "api_key": key});
        model.offer(json!({"data": [
            {"id": "models/gemini-x"},
            {"id": "big", "display_name": "Big", "max_input_tokens": 200_000, "architecture": {"input_modalities": null}},
            {"id": "vendor/eyes", "name": "Eyes", "context_length": 8192, "architecture": {"input_modalities": ["text", "image"]},
             "pricing": {"prompt": "0.0000025", "completion": "0.00001"}},
            {"id": ""},
            {"object": "model"},
            "odd",
        ]}));
        for provider in ["openai", "anthropic", "openrouter", "ollama"] {
            let listed: Value = discover(asked(provider, KEY)).await.json().await.unwrap();
            let expected = json!({"items": [
                {"model": "gemini-x"},
                {"model": "big", "title": "Big", "context_tokens": 200_000},
                {"model": "vendor/eyes", "title": "Eyes", "context_tokens": 8192, "vision": true, "input_price": 2.5, "output_price": 10.0},
            ]});
            assert_eq!(listed, expected, "{provider}");
        }
        let detail = reason(discover(asked("openai", WRONG_KEY)).await, 502, "model-unreachable").await;
        assert!(detail.contains("rejected the API key") && !detail.contains(WRONG_KEY), "{detail}");
        model.offer(json!({"secret_of_this_network": "5up3r"}));
        let detail = reason(discover(asked("openai", KEY)).await, 502, "model-unreachable").await;
        assert!(detail.contains("did not send a list") && !detail.contains("5up3r"), "{detail}");
        assert_problem(discover(json!({"provider": "openai"})).await, 422, "invalid-model").await;
        let link_local = json!({"provider": "openai", "base_url": "http://[fe80::1]/v1"});
        assert_problem(discover(link_local).await, 422, "invalid-model").await;
        let closed = json!({"provider": "openai", "base_url": "http://127.0.0.1:9/v1"});
        assert_problem(discover(closed).await, 502, "model-unreachable").await;
    }
}

/// Without `SECRET_KEY`, an embedded database has a key file beside it, which is created when the first key is stored.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_database_has_a_key_file_once_it_is_needed() {
    use std::os::unix::fs::PermissionsExt as _;

    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let start = async || demo_only(&engine).with_settings(|settings| settings.secret_key = None).spawn().await;
    let app = start().await;
    let file = PathBuf::from(format!("{}.key", engine.url.trim_start_matches("sqlite://")));
    add(&app, json!({"name": "Keyless", "provider": "openai", "base_url": model.url()})).await;
    assert!(!file.exists(), "nothing needs a key yet");
    add(&app, body("Added", &model)).await;
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    app.shut_down().await;

    let app = start().await;
    assert_eq!(offered(&app).await, ["demo", "Keyless*", "Added"]);
    app.shut_down().await;

    let key = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let app = start().await;
    assert_eq!(offered(&app).await, ["demo", "Keyless*"]);
    let lost = app.get_json("/api/admin/models/Added").await;
    assert!(lost["problem"].as_str().unwrap().contains("the key file beside the database"), "{lost}");
    assert!(!file.exists(), "a lost key is not replaced");
    app.shut_down().await;

    std::fs::write(&file, key).unwrap();
    assert_eq!(offered(&start().await).await, ["demo", "Keyless*", "Added"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_secret_key_a_database_server_stores_no_keys() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let app = demo_only(&engine).with_settings(|settings| settings.secret_key = None).spawn().await;
        let refused = request(&app, Method::POST, "/api/admin/models", body("Added", &model)).await;
        let detail = reason(refused, 422, "no-secret-key").await;
        assert!(detail.contains("SECRET_KEY"), "{detail}");
        add(&app, json!({"name": "Keyless", "provider": "openai", "base_url": model.url()})).await;
        assert_eq!(offered(&app).await, ["demo", "Keyless*"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_servers_of_the_database_notice_changes() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (here, there) = (demo_only(&engine).spawn().await, demo_only(&engine).spawn().await);
        add(&here, body("Added", &model)).await;
        eventually("the model arrives", async || offered(&there).await == ["demo", "Added*"]).await;
        model.reply([text("Here I am.")]);
        let conversation = there.create_conversation().await;
        there.send(&conversation, "Are you there?").await.all().await;
        assert_eq!(key_of(&model.requests().pop().unwrap()), KEY);
        request(&there, Method::DELETE, "/api/admin/models/Added", json!({})).await;
        eventually("the model is gone", async || offered(&here).await == ["demo*"]).await;
    }
}
