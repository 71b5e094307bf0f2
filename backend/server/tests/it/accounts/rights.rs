//! Permissions: sends every request that the server has a route for, as every kind of caller. The expected statuses are
//! in `rights/table`. The routes are read from the source, so a new route that is not in the table fails the test.

mod table;

use std::{collections::BTreeSet, fs, path::Path};

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_accounts::{Accounts, Password};
use tallybook_mcp::read_servers_file;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use uuid::Uuid;

use self::table::{Body, FILE, PAGES, Row, SOMEBODYS, row, rows};
use super::kit::{ADMIN, PASSWORD, Team, Who, required, with_admin};
use crate::{
    added_models::demo_only,
    support::{Engine, TestApp, eventually, execute, on_every_engine},
};

/// Callers, in the order of [`table::Answers`], and an admin's key.
const NAMES: [&str; 7] =
    ["nobody", "another", "the owner", "an admin", "who signed out", "another's key", "an admin's key"];

/// Order in which the callers send a request. The owner is last, because the owner's request may delete the resource.
const ORDER: [usize; 7] = [0, 4, 5, 6, 1, 3, 2];

/// Returns the expected status for a caller. An admin's key may do what another user's key may, and read the metrics.
fn expected(route: &str, answers: &table::Answers, place: usize) -> u16 {
    match place {
        6 if route == "/metrics" => answers[3],
        6 => answers[5],
        place => answers[place],
    }
}

struct People {
    team: Team,
    key: Who,
    admins_key: Who,
    signed_out: Who,
}

/// Ids of a conversation, of its answer and of the answer's tool call.
struct Asked {
    uuid: String,
    message: String,
    call: String,
}

impl Asked {
    fn fill(&self, text: &str) -> String {
        // In a body, the id of a message is a number.
        let text = text.replace("\"{message_id}\"", &self.message);
        let text = text.replace("{uuid}", &self.uuid).replace("{message_id}", &self.message);
        text.replace("{tool_call_id}", &self.call)
    }
}

impl Row {
    fn is_of_conversation(&self) -> bool {
        let in_body = matches!(&self.body, Body::Json(body) if body.to_string().contains("{uuid}"));
        in_body || self.route.contains("{uuid}") || self.route.contains("{tool_call_id}")
    }

    /// Fills the ids of a conversation into the request's body.
    fn of(self, asked: &Asked) -> Self {
        match self.body {
            Body::Json(body) => Self { body: Body::Json(asked.fill(&body.to_string()).parse().unwrap()), ..self },
            _ => self,
        }
    }

    /// Creates the request of one caller.
    fn request(&self, team: &Team, who: &Who, address: &str) -> reqwest::RequestBuilder {
        let request = team.request(who, self.method.clone(), address);
        match &self.body {
            Body::Nothing => request,
            Body::Json(body) => request.json(body),
            Body::Form(body) => request.header("content-type", "application/x-www-form-urlencoded").body(*body),
        }
    }
}

impl People {
    async fn start(engine: &Engine, model: &MockLlm) -> Self {
        let team = Team::start(engine, model).await;
        let admin = team.sign_in(ADMIN).await;
        let (other, _) = team.user(&admin, "otto").await;
        let key = team.program(&other).await;
        let admins_key = team.program(&admin).await;
        let (signed_out, _) = team.user(&admin, "olga").await;
        team.json(&signed_out, Method::DELETE, "/api/session", Value::Null, 204).await;
        Self { team, key, admins_key, signed_out }
    }

    async fn each(&self) -> [Who; 7] {
        let signed_in = async |name| self.team.sign_in(name).await;
        let (other, owner, admin) = (signed_in("otto").await, signed_in("olga").await, signed_in(ADMIN).await);
        let (key, admins_key) = (self.key.clone(), self.admins_key.clone());
        [Who::default(), other, owner, admin, self.signed_out.clone(), key, admins_key]
    }

    /// Creates a conversation of the owner's, with an answer that has a tool call.
    async fn conversation(&self, model: &MockLlm, owner: &Who) -> Asked {
        let uuid = self.team.conversation(owner).await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("The sum is 3.")]);
        self.team.ask(owner, &uuid, "What is the sum?").await;
        let path = format!("/api/conversations/{uuid}");
        let whole = self.team.json(owner, Method::GET, &path, Value::Null, 200).await;
        let answer = &whole["messages"][1];
        let (message, call) = (answer["id"].to_string(), answer["tool_calls"][0]["tool_call_id"].to_string());
        Asked { uuid, message, call }
    }

    /// Creates the owner's resource for a row. Returns the row and its address with the ids of that resource.
    async fn make(&self, model: &MockLlm, mut row: Row, owner: &Who, admin: &Who) -> (Row, String) {
        let (team, route) = (&self.team, row.route);
        // Resources with these ids do not exist. The test only checks which callers get that answer.
        let mut address = route
            .replace("{id:.+}", "none")
            .replace("{id}", "resp_999999")
            .replace("{server}", "none")
            .replace("{tool}", "none")
            .replace("{identity_id}", "999999")
            .replace("{invitation_id}", "999999")
            .replace("{change_id}", "999999")
            .replace("{group_id}", "999999")
            .replace("{token}", &Uuid::nil().to_string());
        if row.is_of_conversation() {
            let asked = self.conversation(model, owner).await;
            (row, address) = (row.of(&asked), asked.fill(&address));
        }
        if route.contains("{share_id}") {
            let path = self.conversation(model, owner).await.fill("/api/conversations/{uuid}/shares");
            let share = team.json(owner, Method::POST, &path, json!({}), 201).await;
            address = address.replace("{share_id}", &share["id"].to_string());
        }
        if route.contains("{approval_id}") {
            let call = self.conversation(model, owner).await.call;
            execute!(
                team.app,
                sqlx::AssertSqlSafe(format!(
                    "INSERT INTO approvals (id, tool_call_id, decision, decided_by, proposed_input, scope, created_at) \
                 VALUES ({call}, {call}, 'approve', 'olga', '{{}}', 'always', '2026-01-01 00:00:00')"
                ))
            );
            address = address.replace("{approval_id}", &call);
        }
        if route.contains("{session_id}") {
            let spare = team.sign_in("olga").await;
            let list = team.json(&spare, Method::GET, "/api/sessions", Value::Null, 200).await;
            let spare = list["items"].as_array().unwrap().iter().find(|session| session["current"] == true).unwrap();
            address = address.replace("{session_id}", &spare["id"].to_string());
        }
        if route.contains("{file_id}") {
            let file = team.json(owner, Method::POST, "/api/files?name=notes.txt", json!({"note": 1}), 201).await;
            address = address.replace("{file_id}", file["id"].as_str().unwrap());
        }
        if route.contains("{key_id}") {
            let key =
                team.json(owner, Method::POST, "/api/keys", json!({"name": "spare", "password": PASSWORD}), 201).await;
            address = address.replace("{key_id}", &key["id"].to_string());
        }
        if route.contains("{user_id}") {
            let name = format!("spare{}", Uuid::new_v4().simple());
            let body = json!({"name": name, "password": PASSWORD});
            let user = team.json(admin, Method::POST, "/api/users", body, 201).await;
            address = address.replace("{user_id}", &user["id"].to_string());
        }
        address += row.query;
        (row, address)
    }
}

/// Only admins see the addresses of tool servers, even in errors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_admins_see_internal_addresses_in_errors_of_tool_servers() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let server = json!({ "mcpServers": { "docs": { "url": "http://127.0.0.1:1/mcp", "risk": "low" } } });
    let accounts = required();
    Accounts::new(engine.database().await, accounts.clone())
        .create_admin(ADMIN, Password::new(PASSWORD))
        .await
        .expect("the first admin");
    let tools = tallybook_tools::builtin().unwrap();
    let app = TestApp::builder(&engine)
        .with_mock(&model)
        .with_tools(tools)
        .with_settings(|settings| {
            settings.accounts = accounts;
            settings.tool_servers = read_servers_file(&server.to_string()).unwrap();
        })
        .spawn();
    let team = Team::of(app.await);
    let admin = team.sign_in(ADMIN).await;
    let (ann, _) = team.user(&admin, "ann").await;
    let error = async |who: &Who| {
        let tools = team.json(who, Method::GET, "/api/tools", Value::Null, 200).await;
        tools["servers"][0]["error"].as_str().unwrap_or_default().to_owned()
    };
    eventually("the tool server has failed", async || !error(&admin).await.is_empty()).await;
    assert!(error(&admin).await.starts_with("the server is unreachable: "), "{}", error(&admin).await);
    let plain = "the tool server \"docs\" is unreachable; retrying";
    assert_eq!(error(&ann).await, plain);
}

/// The page offers the acceptance of a changed tool only to users who may accept it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_admins_in_a_session_are_offered_to_accept_tools() {
    let team = Team::start(&Engine::sqlite(), &MockLlm::start().await.unwrap()).await;
    let admin = team.sign_in(ADMIN).await;
    let (ann, _) = team.user(&admin, "ann").await;
    let key = team.program(&admin).await;
    for (who, can_accept) in [(&admin, true), (&ann, false), (&key, false)] {
        let tools = team.json(who, Method::GET, "/api/tools", Value::Null, 200).await;
        assert_eq!(tools["can_accept"], can_accept);
    }
}

/// If only the demo model answers, the page offers admins to connect a model, and tells other users to ask an admin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_admins_are_offered_to_connect_a_model() {
    let engine = Engine::sqlite();
    with_admin(&engine).await;
    let team = Team::of(demo_only(&engine).with_accounts(required()).spawn().await);
    let admin = team.sign_in(ADMIN).await;
    let (ann, _) = team.user(&admin, "ann").await;
    for (who, is_admin) in [(&admin, true), (&ann, false)] {
        let html = team.get(who, "/").await.text().await.unwrap();
        assert!(html.contains("data-testid=\"demo-notice\""), "{html}");
        assert_eq!(html.contains("data-testid=\"connect-model\""), is_admin, "{html}");
        assert_eq!(html.contains("Connect a model"), is_admin, "{html}");
        assert_eq!(html.contains("Ask an admin to connect another model."), !is_admin, "{html}");
        assert!(html.contains(&format!(r#"\"is_admin\":{is_admin}"#)), "{html}");
    }
}

on_every_engine! {
    async fn every_caller_gets_the_expected_status(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let people = People::start(&engine, &model).await;
        let mut each = people.each().await;
        let document = people.team.json(&each[0], Method::GET, "/openapi.json", Value::Null, 200).await;
        for row in rows() {
            let ends_sessions = row.answers.contains(&204) && row.route.starts_with("/api/session")
                || row.route == "/sign-out"
                || row.route == "/api/session";
            let (row, address) = people.make(&model, row, &each[2], &each[3]).await;
            for place in ORDER {
                let starts_turn = row.route.ends_with("/messages") || row.route.ends_with("/regenerate");
                if place == 2 && (starts_turn || row.route.ends_with("/reasoning-summary")) {
                    model.reply([text("Once more.")]);
                }
                if place == 2 && ["/sign-in", "/api/session"].contains(&row.route) {
                    // After six wrong passwords, the next attempt would have to wait.
                    execute!(people.team.app, "DELETE FROM sign_in_attempts");
                }
                let response = row.request(&people.team, &each[place], &address).send().await.unwrap();
                let status = response.status().as_u16();
                let is_file = row.answers == FILE && status == 200;
                let expected = expected(row.route, &row.answers, place);
                assert!(
                    status == expected || is_file,
                    "{} {} by {}: {status} instead of {expected}",
                    row.method, row.route, NAMES[place]
                );
                assert!(is_described(&document, &row, status), "{} {}: {status} is not described", row.method, row.route);
                if starts_turn && place == 2 {
                    // Reads the turn to its end, so that the conversation is idle for the next row.
                    response.text().await.unwrap();
                }
            }
            if ends_sessions {
                each = people.each().await;
            }
        }
        model.assert_calls_paired();
    }

    /// For its owner, a deleted conversation does not exist either: at all its addresses, with every method. Admins
    /// find it in the tool history.
    async fn a_deleted_conversation_is_not_found_at_any_address(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let people = People::start(&engine, &model).await;
        let [_, _, owner, admin, ..] = people.each().await;
        let team = &people.team;
        let asked = people.conversation(&model, &owner).await;
        let path = format!("/api/conversations/{}", asked.uuid);
        team.json(&owner, Method::DELETE, &path, Value::Null, 204).await;
        let mut rows: Vec<Row> = rows().into_iter().filter(Row::is_of_conversation).collect();
        rows.push(row(Method::GET, "/c/{uuid}", SOMEBODYS));
        for row in rows {
            let address = asked.fill(row.route) + row.query;
            let row = row.of(&asked);
            let (who, expected) = match (row.route.starts_with("/admin"), &row.method) {
                (false, _) => (&owner, 404),
                (true, &Method::GET) => (&admin, 403),
                (true, _) => (&admin, 303),
            };
            let status = row.request(team, who, &address).send().await.unwrap().status().as_u16();
            assert_eq!(status, expected, "{} {}", row.method, row.route);
        }
        model.assert_calls_paired();
    }

    /// Pages redirect unauthenticated users to the sign-in form. A conversation's page is only for its owner.
    async fn pages_are_only_for_their_owner(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let people = People::start(&engine, &model).await;
        let each = people.each().await;
        let team = &people.team;
        let uuid = team.conversation(&each[2]).await;
        let who_is_shown = ["", "otto", "olga", ADMIN, "", "otto", ADMIN];
        for (route, answers) in PAGES {
            let path = route.replace("{uuid}", &uuid);
            for (place, who) in each.iter().enumerate() {
                let page = team.get(who, &path).await;
                assert_eq!(page.status().as_u16(), expected(route, &answers, place), "{route} by {}", NAMES[place]);
                if expected(route, &answers, place) == 303 {
                    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", &path).finish();
                    let form = if path == "/" { "/sign-in".to_owned() } else { format!("/sign-in?{query}") };
                    assert_eq!(page.headers()["location"], form.as_str());
                    continue;
                }
                // After a sign-out, the browser's back button must show nothing.
                assert_eq!(page.headers()["cache-control"], "no-store");
                let html = page.text().await.unwrap();
                for name in ["otto", "olga"] {
                    assert_eq!(html.contains(name), who_is_shown[place] == name, "{name} in {route} by {}", NAMES[place]);
                }
            }
        }
    }
}

/// Returns `true` if `document` (`/openapi.json`) lists this status for the route, or does not contain the route.
fn is_described(document: &Value, row: &Row, status: u16) -> bool {
    let item = &document["paths"][row.route.replace(":.+", "")];
    let method = row.method.as_str().to_lowercase();
    item.is_null() || !item[method]["responses"][status.to_string()].is_null()
}

/// The table contains exactly the routes of the source.
#[test]
fn the_table_contains_every_route() {
    let judged: BTreeSet<_> = rows().iter().map(|row| (row.method.to_string(), row.route.to_owned())).collect();
    let there = routes();
    assert!(there.len() > 40, "{there:?}");
    assert_eq!(judged, there);
}

/// The list of pages contains exactly the pages that `frontend/src/address.rs` parses.
#[test]
fn the_table_contains_every_page() {
    let source = include_str!("../../../../../frontend/src/address.rs");
    let parse = source.split("fn parse(").nth(1).unwrap().split("\n    }\n").next().unwrap();
    let there: BTreeSet<_> = parse.split('"').skip(1).step_by(2).map(|name| format!("/{name}")).collect();
    let judged = PAGES.map(|(route, _)| route.split('{').next().unwrap().to_owned());
    assert_eq!(there, BTreeSet::from(judged));
}

/// Returns every route with its methods, from all files in `http`. Routes in a function named `api` are under `/api`,
/// and those in `v1` are under `/v1`.
pub(crate) fn routes() -> BTreeSet<(String, String)> {
    let http = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/http");
    let mut found = BTreeSet::new();
    let mut folders = vec![http];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.extend(routes_of(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}

fn routes_of(source: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    let mut before = String::new();
    for part in source.split("Endpoint::at(").collect::<Vec<_>>().windows(2) {
        before += part[0];
        let function = before.rsplit("\nfn ").next().unwrap_or_default();
        let function =
            before.rsplit("\npub(crate) fn ").next().filter(|it| it.len() < function.len()).unwrap_or(function);
        let prefix = [("api(", "/api"), ("v1(", "/v1")].iter().find(|(name, _)| function.starts_with(name));
        let prefix = prefix.map_or("", |(_, prefix)| prefix);
        let addresses: Vec<&str> = match part[1].strip_prefix('"') {
            Some(rest) => vec![rest.split('"').next().unwrap()],
            // The names of files, which are in a list.
            None if part[1].starts_with("file)") => {
                let assets = include_str!("../../../src/http/assets.rs");
                let list = assets.split("UNVERSIONED: [").nth(1).unwrap().split(';').nth(1).unwrap();
                list.split('"').skip(1).step_by(2).collect()
            }
            None => panic!("an address that is not a string: {}", &part[1][..40]),
        };
        for method in part[1].split(".on(Method::").skip(1) {
            let method = method.split(',').next().unwrap();
            found.extend(addresses.iter().map(|address| (method.to_owned(), format!("{prefix}{address}"))));
        }
    }
    found
}
