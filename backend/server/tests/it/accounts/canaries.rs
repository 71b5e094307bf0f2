//! Plants a canary for each kind of secret, from the settings, from admins and from users, in one server process that
//! logs everything. Even if a tool, a model or a provider repeats a secret, it must not appear in any event, row, page,
//! statistic, error, trace, log line or backup. The client secret for the identity provider has its own test, in
//! `openid::canary`.

use std::path::Path;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, Reply, raw, text, tool_call};
use tallybook_mock_mcp::{Fault, MockMcp, Program as ToolServer};

use super::{
    kit::{PASSWORD, Team, Who, cookie_of},
    openid::base64,
    tool_history::say_why,
};
use crate::{
    operator_commands::{admin, said as said_by},
    secrets::assert_not_kept,
    support::{Engine, Program, TestApp, eventually, on_every_engine},
    traces::Collector,
};

const PROVIDER: &str = "canary-provider-5up3r";
const DATABASE: &str = "canary-database-5up3r";
const HEADER: &str = "canary-header-5up3r";
const QUERY: &str = "canary-query-5up3r";
const VARIABLE: &str = "canary-variable-5up3r";
const CLIENT: &str = "canary-oauth-5up3r";
const ACCESS_TOKEN: &str = "canary-access-5up3r";
const COLLECTOR: &str = "canary-collector-5up3r";
const STORAGE: &str = "canary-storage-5up3r";
const PERSONS: &str = "canary-password-5up3r";
const WRONG: &str = "canary-mistyped-5up3r";
const SECRET_KEY: &str = "canary-secret-key-5up3r-of-32-characters";
const ADDED_KEY: &str = "canary-added-key-5up3r";
const ADDED_HEADER: &str = "canary-added-header-5up3r";
const TESTED_KEY: &str = "canary-tested-key-5up3r";
const ADDED_TOKEN: &str = "canary-added-token-5up3r";

/// Secrets that must not appear anywhere, each with its kind.
struct Canaries(Vec<(&'static str, String)>);

impl Canaries {
    /// Creates the secrets of the settings and of the users who sign in.
    fn new() -> Self {
        let all = [
            ("a provider's key", PROVIDER),
            ("the database's password", DATABASE),
            ("a tool server's header", HEADER),
            ("a part of its address", QUERY),
            ("its variable", VARIABLE),
            ("its OAuth client's secret", CLIENT),
            ("its access token", ACCESS_TOKEN),
            ("the collector's header", COLLECTOR),
            ("the storage's key", STORAGE),
            ("a password", PERSONS),
            ("a wrong password", WRONG),
            ("the secret key", SECRET_KEY),
            ("the key of an added model", ADDED_KEY),
            ("the key of a tested model", TESTED_KEY),
            ("a header of an added tool server", ADDED_HEADER),
            ("the token of an added tool server", ADDED_TOKEN),
        ];
        let mut all: Vec<_> = all.map(|(kind, secret)| (kind, secret.to_owned())).into();
        all.push(("the OAuth client, as it shows itself", client()));
        Self(all)
    }

    /// Fails if a text contains one of the secrets.
    fn assert_lacks(&self, what: &str, text: &str) {
        for (kind, secret) in &self.0 {
            let line = text.lines().find(|line| line.contains(&**secret));
            assert!(line.is_none(), "{kind} is in {what}: {line:?}");
        }
    }
}

/// Returns the credentials that the OAuth client sends to the token endpoint.
fn client() -> String {
    base64(format!("id:{CLIENT}").as_bytes())
}

/// Returns the settings of two tool servers that repeat their input: one over HTTP that requires a token, and a local
/// process.
fn tool_servers(mock: &MockMcp) -> Value {
    let remote = json!({
        "url": format!("{}?api_key={QUERY}", mock.url()), "requiresAuth": true, "risk": "low",
        "headers": { "X-Key": HEADER },
    });
    let mut local = ToolServer::of_test("tool_servers::tool_server_process", &[]);
    local.env.insert("CANARY_TOKEN".to_owned(), "${CANARY_TOKEN}".to_owned());
    local.env.insert("PLACE".to_owned(), "home".to_owned());
    let local = json!({ "command": local.command, "args": local.args, "env": local.env, "risk": "low" });
    json!({ "mcpServers": { "remote": remote, "local": local } })
}

/// Starts the program with all these secrets. If the database has users, one of these secrets is the database user's
/// password.
async fn start(engine: &Engine, model: &MockLlm, mock: &MockMcp, collector: &Collector, folder: &Path) -> Team {
    let servers = folder.join("servers.json");
    std::fs::write(&servers, tool_servers(mock).to_string()).unwrap();
    let mut command = Program::command_after(&format!("exec 2>'{}'", folder.join("log").display()), engine, model);
    if !engine.is_sqlite() {
        let user = engine.create_user(DATABASE).await;
        engine.run(format!("GRANT ALL ON {}.* TO {user}", engine.name())).await;
        command.env("DATABASE_URL", engine.as_user(&user, DATABASE).url);
    }
    command.env("RUST_LOG", "trace").env("ACCOUNTS", "on").env("LLM_API_KEY", PROVIDER);
    command
        .env("MCP_SERVERS_FILE", &servers)
        .env("CANARY_TOKEN", VARIABLE)
        .env("MCP_OAUTH_TOKEN_URL", mock.token_url());
    command.env("MCP_OAUTH_CLIENT_ID", "id").env("MCP_OAUTH_CLIENT_SECRET", CLIENT);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", format!("x-key={COLLECTOR}"));
    command.env("AWS_SECRET_ACCESS_KEY", STORAGE).env("SECRET_KEY", SECRET_KEY);
    Team::of(TestApp::launch_command(engine, &mut command))
}

/// Sends a message, and returns the events of its answer.
async fn ask(team: &Team, who: &Who, conversation: &str, content: &str) -> String {
    ask_with(team, who, conversation, json!({"content": content})).await
}

async fn ask_with(team: &Team, who: &Who, conversation: &str, message: Value) -> String {
    let path = format!("/api/conversations/{conversation}/messages");
    team.send(who, Method::POST, &path, message).await.text().await.unwrap()
}

/// Adds a model and a tool server, both with the name `added`, and lets the server, the model and the tool server
/// repeat their secrets.
async fn add_entries(team: &Team, admin: &Who, canaries: &Canaries, model: &MockLlm, mock: &MockMcp) {
    let entry = json!({
        "name": "added", "provider": "anthropic", "model": "test-model", "base_url": model.url(), "api_key": ADDED_KEY,
    });
    let headers = json!({"Authorization": format!("Bearer {ADDED_TOKEN}"), "X-Note": ADDED_HEADER});
    let server = json!({"name": "added", "url": mock.url(), "risk": "low", "headers": headers});
    let (models, servers) = ("/api/admin/models", "/api/admin/tool-servers");
    let with = |body: &Value, field: &str, value: Value| {
        let mut body = body.clone();
        body[field] = value;
        body
    };
    let (test_model, test_server) = (format!("{models}/test"), format!("{servers}/test"));
    model.reply([text(format!("My key is {TESTED_KEY}."))]);
    model.reply([tool_call("add", r#"{"a":"2","b":"3"}"#)]);
    model.reply([text("Red.")]);
    for _ in 0..2 {
        model.reply(rejected());
    }
    model.offer(json!({"error": ADDED_KEY}));
    for (method, path, body, status) in [
        (Method::POST, &*test_model, with(&entry, "api_key", json!(TESTED_KEY)), 200),
        (Method::POST, models, entry.clone(), 201),
        (Method::POST, models, entry.clone(), 409),
        (Method::POST, models, with(&entry, "api_key", json!([ADDED_KEY])), 422),
        (Method::POST, models, with(&entry, "api_key", json!(format!("{ADDED_KEY}\n"))), 409),
        (Method::POST, &test_model, with(&entry, "temperature", json!(9)), 422),
        (Method::POST, &test_model, entry.clone(), 200),
        (Method::POST, &format!("{models}/added/test"), json!({}), 200),
        (
            Method::POST,
            &format!("{models}/discover"),
            json!({"provider": "openai", "base_url": model.url(), "api_key": ADDED_KEY}),
            502,
        ),
        (Method::PATCH, &format!("{models}/added"), json!({"base_url": "http://127.0.0.1:9", "api_key": 1}), 422),
        (Method::POST, servers, server.clone(), 201),
        (Method::POST, servers, with(&server, "headers", json!([ADDED_TOKEN])), 422),
        (Method::POST, servers, with(&server, "risk", json!("none")), 422),
        (Method::POST, &test_server, server.clone(), 200),
        (Method::POST, &format!("{servers}/added/test"), json!({}), 200),
        (Method::PATCH, &format!("{servers}/added"), json!({"headers": headers}), 200),
    ] {
        let response = team.send(admin, method.clone(), path, body).await;
        let (found, text) = (response.status().as_u16(), response.text().await.unwrap());
        canaries.assert_lacks(path, &text);
        assert_eq!(found, status, "{method} {path}: {text}");
    }
    assert_eq!(model.requests()[0].header("x-api-key"), Some(TESTED_KEY), "the model was tested");
}

/// Asks the added model, which calls a tool of the added tool server. The tool server and the model repeat their
/// secrets.
async fn ask_added(team: &Team, user: &Who, conversation: &str, canaries: &Canaries, model: &MockLlm) {
    let asked = json!({"content": "Tell me more", "model": "added"});
    let said = json!({ "text": format!("{ADDED_KEY} {ADDED_TOKEN}") }).to_string();
    let before = model.requests().len();
    model.reply([tool_call("added__headers", "{}"), tool_call("local__echo", said)]);
    model.reply([text("Said.")]);
    let events = ask_with(team, user, conversation, asked.clone()).await;
    assert!(events.contains("authorization: Bearer [hidden]") && events.contains("x-note: [hidden]"), "{events}");
    canaries.assert_lacks("an event", &events);
    let [first, second] = &model.requests()[before..] else { panic!("two requests") };
    assert_eq!(first.header("x-api-key"), Some(ADDED_KEY), "the added model was asked");
    assert!(first.body_text.contains("Sends [hidden] and [hidden]."), "{}", first.body_text);
    canaries.assert_lacks("the prompt", &second.body_text);
    model.reply(rejected());
    canaries.assert_lacks("a failure", &ask_with(team, user, conversation, asked).await);
}

/// Runs the commands that read the added entries: the check of the configuration, and the backup of an embedded
/// database.
fn check_commands(engine: &Engine, canaries: &Canaries, model: &MockLlm, folder: &Path) {
    let mut check = Program::command(engine, model);
    let check = check.args(["check-config", "--database"]).env("SECRET_KEY", SECRET_KEY).output().unwrap();
    let (is_done, words) = said_by(&check);
    assert!(is_done && words.contains("added (added in the page): "), "{words}");
    canaries.assert_lacks("the result of check-config", &words);
    if engine.is_sqlite() {
        let copy = folder.join("copy.db");
        assert!(said_by(&admin(engine, model, &["backup", copy.to_str().unwrap()])).0);
        let backup = std::fs::read(copy).unwrap();
        let backup = String::from_utf8_lossy(&backup);
        assert!(backup.contains("added"), "the backup has the added entries");
        canaries.assert_lacks("the backup", &backup);
    }
}

/// Returns the response of a provider that rejects the key of the added model, and repeats it.
fn rejected() -> Reply {
    Reply::fail(401, json!({"error": {"message": format!("your key is {ADDED_KEY}")}}).to_string())
}

/// Returns the addresses that an admin can read without a parameter, except streams, and those of the entries `added`.
async fn readable_addresses(team: &Team) -> Vec<String> {
    let document = team.json(&Who::default(), Method::GET, "/openapi.json", Value::Null, 200).await;
    let paths = document["paths"].as_object().unwrap().iter();
    let reads =
        paths.filter(|(_, methods)| methods.get("get").is_some()).map(|(path, _)| path.replace("{name}", "added"));
    let mut addresses: Vec<String> = reads.filter(|path| !path.contains('{') && path != "/api/events").collect();
    assert!(addresses.contains(&"/api/admin/tool-servers/added".to_owned()), "{addresses:?}");
    addresses.extend(
        ["/admin/settings", "/admin/groups", "/admin/budgets", "/admin/figures", "/admin", "/settings", "/"]
            .map(str::to_owned),
    );
    addresses
}

on_every_engine! {
    async fn secrets_appear_in_no_output(engine: Engine) {
        let mut canaries = Canaries::new();
        let (model, collector) = (MockLlm::start().await.unwrap(), Collector::start().await);
        let mock = MockMcp::start_closed(&[Fault::RepeatsHeaders]).await.unwrap();
        mock.set_client(&format!("Basic {}", client()), ACCESS_TOKEN);
        mock.describe_first_tool(&format!("Sends {HEADER}, {STORAGE} and {PROVIDER}."));
        let folder = tempfile::tempdir().unwrap();
        let team = start(&engine, &model, &mock, &collector, folder.path()).await;

        // Secrets of users: the setup link, an invitation, a right and a wrong password, a session and an API key.
        let setup = team.app.process().setup_link();
        let root = team.sign_up(&setup, "root", PERSONS).await;
        let made = team.json(&root, Method::POST, "/api/invitations", json!({}), 201).await;
        let invitation = made["url"].as_str().unwrap().to_owned();
        let ann = team.sign_up(&invitation, "ann", PASSWORD).await;
        let session = cookie_of(&team.try_sign_in("root", PERSONS).await).unwrap();
        let program = team.program_by(&root, PERSONS).await;
        let token_of = |link: &str| link.split_once('=').unwrap().1.to_owned();
        canaries.0.extend([
            ("the first link", token_of(&setup)),
            ("an invitation", token_of(&invitation)),
            ("a session", token_of(&session)),
            ("a key", program.key.clone().unwrap()),
        ]);
        let who = Who { cookie: Some(session), key: None };
        let form = [("name", "root"), ("password", WRONG), ("next", "/")];
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = team.request(&Who::default(), Method::POST, "/sign-in").body(body);
        let refused = request.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap();
        canaries.assert_lacks("the form", &refused.text().await.unwrap());
        let refused = team.try_sign_in("root", WRONG).await.text().await.unwrap();
        canaries.assert_lacks("a refusal", &refused);
        let wrong = Who { key: Some(format!("{}0", program.key.as_ref().unwrap())), cookie: None };
        let refused = team.get(&wrong, "/api/models").await;
        assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
        canaries.assert_lacks("a refusal", &refused.text().await.unwrap());

        let added = MockMcp::start(&[Fault::RepeatsHeaders]).await.unwrap();
        added.describe_first_tool(&format!("Sends {ADDED_HEADER} and {ADDED_TOKEN}."));
        let added_model = MockLlm::start().await.unwrap();
        add_entries(&team, &who, &canaries, &added_model, &added).await;

        // The tool servers repeat their input, the prompt contains a tool's description, and the provider repeats its
        // key.
        eventually("the tool servers are connected", async || {
            let tools = team.json(&program, Method::GET, "/api/tools", Value::Null, 200).await;
            tools["servers"].as_array().unwrap().iter().all(|server| server["status"] == "connected")
        })
        .await;
        let uuid = team.conversation(&ann).await;
        let said = json!({ "text": format!("{PROVIDER} {HEADER}") }).to_string();
        model.reply([tool_call("remote__headers", "{}"), tool_call("local__env", "{}"), tool_call("local__echo", said)]);
        model.reply([text("Said.")]);
        let events = ask(&team, &ann, &uuid, "Tell me").await;
        for prompt in ["authorization: Bearer [hidden]", "x-key: [hidden]", "CANARY_TOKEN=[hidden]", "PLACE=home", "the arguments contain [hidden] in place of a secret"] {
            assert!(events.contains(prompt), "{prompt}: {events}");
        }
        canaries.assert_lacks("an event", &events);
        let prompt = &model.requests()[1].body_text;
        assert!(prompt.contains("Sends [hidden], [hidden] and [hidden]."), "{prompt}");
        canaries.assert_lacks("the prompt", prompt);
        let error = json!({"type": "error", "error": {"type": "x", "message": format!("your key is {PROVIDER}")}});
        model.reply([text("The beginning"), raw(format!("event: error\ndata: {error}\n\n"))]);
        model.reply(Reply::fail(401, error.to_string()));
        for _ in 0..2 {
            canaries.assert_lacks("a failure", &ask(&team, &ann, &uuid, "Fail").await);
        }
        ask_added(&team, &ann, &uuid, &canaries, &added_model).await;

        let mine = format!("/api/conversations/{uuid}");
        let whole = team.json(&ann, Method::GET, &mine, Value::Null, 200).await;
        let call = format!("/admin/calls/{}", whole["messages"][1]["tool_calls"][0]["tool_call_id"]);
        let file = format!("{mine}/export?format=json");
        let exported = ["/admin/export?format=jsonl", "/admin/export?format=csv"];
        for address in [&call, exported[0]] {
            say_why(&team, &who, address, "to see what it says").await;
        }
        for (who, addresses) in [
            (&ann, &["/", &format!("/c/{uuid}"), &mine, &file, "/settings", "/api/me", "/api/me/export", "/api/looks"][..]),
            (&who, &["/settings", "/admin", &call, "/admin/figures", "/api/keys", "/api/sessions", "/api/users", "/metrics"]),
            (&who, &exported),
            (&program, &["/api/tools", "/api/models", "/v1/models"]),
        ] {
            for address in addresses {
                let answer = team.get(who, address).await;
                assert_eq!(answer.status(), StatusCode::OK, "{address}");
                canaries.assert_lacks(address, &answer.text().await.unwrap());
            }
        }

        for address in readable_addresses(&team).await {
            let answer = team.get(&who, &address).await;
            assert!(!answer.status().is_server_error(), "{address}");
            canaries.assert_lacks(&address, &answer.text().await.unwrap());
        }

        // Traces that wait to be sent to the collector are sent at shutdown.
        team.app.process().signal("TERM");
        assert!(team.app.wait());
        let (log, traces) = (std::fs::read_to_string(folder.path().join("log")).unwrap(), collector.bytes());
        assert!(log.contains("TRACE") && !traces.is_empty(), "the test collected output");
        canaries.assert_lacks("the log", &log);
        canaries.assert_lacks("a trace", &String::from_utf8_lossy(&traces));
        for (_, secret) in &canaries.0 {
            assert_not_kept(&engine, secret).await;
        }
        check_commands(&engine, &canaries, &model, folder.path());
    }
}
