//! Who may do what: every address that the server takes, asked by everybody. The addresses are read from the source, so one
//! that is added and not judged here fails the test.

use std::{collections::BTreeSet, fs, path::Path};

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use uuid::Uuid;

use super::kit::{ADMIN, PASSWORD, Team, Who};
use crate::support::{Engine, execute, on_every_engine};

/// What everybody is answered: nobody, another person, the owner, an admin, whoever signed out, and another's key.
type Answers = [u16; 6];

/// For what is one's own, of which everybody has some.
const OWN: Answers = [401, 200, 200, 200, 401, 200];
/// The same, of which programs are told nothing.
const PERSONAL: Answers = [401, 200, 200, 200, 401, 403];
/// For what is somebody's, if it is answered with 200.
const SOMEBODYS: Answers = somebodys(200);
/// For what only admins may.
const ADMINS: Answers = admins(200);
/// For what is the same for everybody.
const PUBLIC: Answers = [200; 6];
/// The page's files, which a build without a page does not have.
const FILE: Answers = [404; 6];

const fn somebodys(status: u16) -> Answers {
    [401, 404, status, 404, 401, 404]
}

const fn admins(status: u16) -> Answers {
    [401, 403, 403, status, 401, 403]
}

/// What is sent: `{}` as JSON unless something else is said.
enum Body {
    Nothing,
    Json(Value),
    Form(&'static str),
}

struct Row {
    method: Method,
    /// As the table of routes has it.
    route: &'static str,
    /// What follows the address.
    query: &'static str,
    body: Body,
    answers: Answers,
}

fn row(method: Method, route: &'static str, answers: Answers) -> Row {
    Row { method, route, query: "", body: Body::Nothing, answers }
}

impl Row {
    fn json(self, body: Value) -> Self {
        Self { body: Body::Json(body), ..self }
    }

    fn form(self, body: &'static str) -> Self {
        Self { body: Body::Form(body), ..self }
    }

    fn query(self, query: &'static str) -> Self {
        Self { query, ..self }
    }
}

/// Every address by every method, with what each is answered.
fn rows() -> Vec<Row> {
    let (get, post, patch, delete) = (Method::GET, Method::POST, Method::PATCH, Method::DELETE);
    let wrong = || json!({"name": "stranger", "password": "whatever it is"});
    let mut rows = rows_of_the_book();
    rows.extend([
        row(get.clone(), "/api/conversations", OWN),
        row(post.clone(), "/api/conversations", [401, 201, 201, 201, 401, 201]).json(json!({})),
        row(get.clone(), "/api/conversations/{uuid}", SOMEBODYS),
        row(patch.clone(), "/api/conversations/{uuid}", SOMEBODYS).json(json!({"title": "New"})),
        row(get.clone(), "/api/conversations/{uuid}/export", SOMEBODYS).query("?format=json"),
        row(post.clone(), "/api/conversations/{uuid}/messages", SOMEBODYS).json(json!({"content": "Again"})),
        row(post.clone(), "/api/conversations/{uuid}/messages/{message_id}/regenerate", SOMEBODYS),
        row(post.clone(), "/api/conversations/{uuid}/messages/{message_id}/reasoning-summary", SOMEBODYS),
        row(post.clone(), "/api/conversations/{uuid}/messages/{message_id}/select", SOMEBODYS),
        row(get.clone(), "/api/conversations/{uuid}/messages/{message_id}/playback", SOMEBODYS),
        row(get.clone(), "/api/conversations/{uuid}/messages/{message_id}/usage", SOMEBODYS),
        row(get.clone(), "/api/conversations/{uuid}/usage", SOMEBODYS),
        row(get.clone(), "/api/conversations/{uuid}/events", somebodys(204)),
        row(post.clone(), "/api/conversations/{uuid}/continue", somebodys(409)),
        row(post.clone(), "/api/conversations/{uuid}/stop", somebodys(204)),
        row(get.clone(), "/api/conversations/{uuid}/search", SOMEBODYS).query("?query=sum"),
        row(get.clone(), "/api/tool-calls/{tool_call_id}", SOMEBODYS),
        row(post.clone(), "/api/conversations/{uuid}/shares", [401, 404, 201, 404, 401, 403]),
        row(get.clone(), "/api/shares", OWN),
        row(delete.clone(), "/api/shares/{share_id}", [401, 404, 204, 404, 401, 403]),
        row(get.clone(), "/s/{token}", [404; 6]),
        row(delete.clone(), "/api/conversations/{uuid}", somebodys(204)),
        row(get.clone(), "/api/conversations/{uuid}/tools", SOMEBODYS),
        row(Method::PUT, "/api/conversations/{uuid}/tools", SOMEBODYS).json(json!({"disabled": ["add"]})),
        row(post.clone(), "/api/tools/settings", SOMEBODYS)
            .json(json!({"session_id": "{uuid}", "tools": {"add": false}})),
        row(post.clone(), "/api/tool-servers/{server}/tools/{tool}/accept", admins(404)),
        row(post.clone(), "/api/conversations/{uuid}/decisions", [401, 404, 422, 404, 401, 403])
            .json(json!({"decisions": []})),
        row(post.clone(), "/api/tool-calls/{tool_call_id}/decision", [401, 404, 409, 404, 401, 403])
            .json(json!({"decision": "approve"})),
        row(get.clone(), "/api/approvals", OWN),
        row(delete.clone(), "/api/approvals/{approval_id}", [401, 404, 204, 404, 401, 403]),
        row(get.clone(), "/api/search", OWN).query("?query=sum"),
        row(get.clone(), "/api/events", OWN),
        row(get.clone(), "/api/models", OWN),
        row(get.clone(), "/api/tools", OWN),
        row(get.clone(), "/api/sessions", PERSONAL),
        row(delete.clone(), "/api/sessions/{session_id}", [401, 404, 204, 404, 401, 403]),
        row(get.clone(), "/api/keys", PERSONAL),
        row(post.clone(), "/api/keys", [401, 201, 201, 201, 401, 403]).json(json!({"name": "mine"})),
        row(delete.clone(), "/api/keys/{key_id}", [401, 404, 204, 404, 401, 403]),
        row(get.clone(), "/api/me", OWN),
        row(patch.clone(), "/api/me", PERSONAL).json(json!({"instructions": "Be kind."})),
        // What takes the password is refused without it.
        row(delete.clone(), "/api/me", [401, 403, 403, 403, 401, 403]).json(json!({"password": "not it"})),
        row(Method::PUT, "/api/me/password", [401, 403, 403, 403, 401, 403])
            .json(json!({"current": "not it", "new": PASSWORD})),
        row(get.clone(), "/api/me/export", PERSONAL),
        row(get.clone(), "/api/users", ADMINS),
        row(post.clone(), "/api/users", admins(201)).json(json!({"name": "zoe", "password": PASSWORD})),
        row(get.clone(), "/api/users/{user_id}", ADMINS),
        row(patch, "/api/users/{user_id}", ADMINS).json(json!({"role": "user"})),
        row(delete.clone(), "/api/users/{user_id}", admins(204)),
        // By the issuer, of which there is none here.
        row(get.clone(), "/sign-in/away", [404; 6]),
        row(get.clone(), "/sign-in/callback", [404; 6]).query("?code=x&state=x"),
        row(get.clone(), "/api/identities", PERSONAL),
        row(post.clone(), "/api/identities", [401, 404, 404, 404, 401, 403]).json(json!({"password": PASSWORD})),
        row(delete.clone(), "/api/identities/{identity_id}", [401, 404, 404, 404, 401, 403]),
        row(get.clone(), "/api/users/{user_id}/identities", ADMINS),
        row(post.clone(), "/api/users/{user_id}/identities", admins(404)).json(json!({"subject": "somebody"})),
        row(delete.clone(), "/api/users/{user_id}/identities/{identity_id}", admins(404)),
        row(post.clone(), "/api/invitations", admins(201)),
        row(get.clone(), "/v1/models", OWN),
        row(get.clone(), "/v1/models/{id:.+}", [401, 404, 404, 404, 401, 404]),
        row(post.clone(), "/v1/chat/completions", [401, 400, 400, 400, 401, 400]).json(json!({})),
        row(post.clone(), "/v1/responses", [401, 400, 400, 400, 401, 400]).json(json!({})),
        row(get.clone(), "/v1/responses/{id}", [401, 404, 404, 404, 401, 404]),
        row(delete.clone(), "/v1/responses/{id}", [401, 404, 404, 404, 401, 404]),
        row(post.clone(), "/v1/chat", [401, 400, 400, 400, 401, 400]).json(json!({})),
        row(post.clone(), "/api/chat", [401, 400, 400, 400, 401, 400]).json(json!({})),
        row(post.clone(), "/mcp", OWN).json(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
        row(get.clone(), "/api/looks", PERSONAL),
        row(get.clone(), "/openapi.json", PUBLIC),
        row(get.clone(), "/docs/api", PUBLIC),
        row(get.clone(), "/healthz", PUBLIC),
        row(get.clone(), "/readyz", PUBLIC),
        row(get.clone(), "/metrics", ADMINS),
        row(get.clone(), "/pkg/{version}/{file}", FILE),
        row(get.clone(), "/service-worker.js", FILE),
        row(get.clone(), "/favicon.svg", FILE),
        row(get.clone(), "/manifest.webmanifest", FILE),
        row(get.clone(), "/icon-192.png", FILE),
        row(get.clone(), "/icon-512.png", FILE),
        row(get.clone(), "/icon-maskable-512.png", FILE),
        row(get.clone(), "/sign-in", [200, 303, 303, 303, 200, 303]),
        row(post.clone(), "/sign-in", [401; 6]).form("name=nobody&password=whatever&next=/"),
        row(get.clone(), "/setup", [410; 6]).query("?token=x"),
        row(post.clone(), "/setup", [410; 6]).form("name=eve&password=a+password+of+some+length&token=x"),
        row(get, "/invitation", [410; 6]).query("?token=x"),
        row(post.clone(), "/invitation", [410; 6]).form("name=eve&password=a+password+of+some+length&token=x"),
        // From here on a session ends with each of them.
        row(post.clone(), "/api/session", [401; 6]).json(wrong()),
        row(post, "/sign-out", [303; 6]),
        row(delete.clone(), "/api/session", [401, 204, 204, 204, 401, 403]),
        row(delete, "/api/sessions", [401, 204, 204, 204, 401, 403]),
    ]);
    rows
}

fn rows_of_the_book() -> Vec<Row> {
    let (get, post) = (Method::GET, Method::POST);
    vec![
        // Of what is another's, admins are asked why they look.
        row(get.clone(), "/admin", [303, 403, 403, 200, 303, 403]),
        row(get.clone(), "/admin/book.js", [303, 403, 403, 200, 303, 403]),
        row(get.clone(), "/admin/figures", [303, 403, 403, 200, 303, 403]),
        row(get.clone(), "/admin/export", [303, 403, 403, 403, 303, 403]).query("?format=csv"),
        row(get.clone(), "/admin/calls/{tool_call_id}", [303, 403, 403, 403, 303, 403]),
        row(get.clone(), "/admin/calls/{tool_call_id}/playback", [303, 403, 403, 403, 303, 403]),
        row(get, "/admin/conversations/{uuid}", [303, 403, 403, 403, 303, 403]),
        row(post.clone(), "/admin", admins(303)).form("reason=because"),
        row(post.clone(), "/admin/export", admins(303)).query("?format=csv").form("reason=because"),
        row(post.clone(), "/admin/calls/{tool_call_id}", admins(303)).form("reason=because"),
        row(post.clone(), "/admin/calls/{tool_call_id}/playback", admins(303)).form("reason=because"),
        row(post.clone(), "/admin/conversations/{uuid}", admins(303)).form("reason=because"),
        // Above the admin has said why.
        row(post, "/admin/calls/{tool_call_id}/reruns", admins(303)).form("input={}"),
    ]
}

/// Who asks, in the order of [`Answers`].
const NAMES: [&str; 6] = ["nobody", "another", "the owner", "an admin", "who signed out", "another's key"];

/// In the order in which they ask: the owner, who may take it away, last.
const ORDER: [usize; 6] = [0, 4, 5, 1, 3, 2];

struct People {
    team: Team,
    key: Who,
    signed_out: Who,
}

/// The ids of a conversation, of its answer and of that one's tool call.
struct Asked {
    uuid: String,
    message: String,
    call: String,
}

impl Asked {
    fn fill(&self, text: &str) -> String {
        let text = text.replace("{uuid}", &self.uuid).replace("{message_id}", &self.message);
        text.replace("{tool_call_id}", &self.call)
    }
}

impl Row {
    fn is_of_conversation(&self) -> bool {
        let in_body = matches!(&self.body, Body::Json(body) if body.to_string().contains("{uuid}"));
        in_body || self.route.contains("{uuid}") || self.route.contains("{tool_call_id}")
    }

    /// The same for a conversation.
    fn of(self, asked: &Asked) -> Self {
        match self.body {
            Body::Json(body) => Self { body: Body::Json(asked.fill(&body.to_string()).parse().unwrap()), ..self },
            _ => self,
        }
    }

    /// What somebody sends.
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
        let (other, _) = team.person(&admin, "otto").await;
        let key = team.program(&other).await;
        let (signed_out, _) = team.person(&admin, "olga").await;
        team.json(&signed_out, Method::DELETE, "/api/session", Value::Null, 204).await;
        Self { team, key, signed_out }
    }

    async fn each(&self) -> [Who; 6] {
        let signed_in = async |name| self.team.sign_in(name).await;
        let (other, owner, admin) = (signed_in("otto").await, signed_in("olga").await, signed_in(ADMIN).await);
        [Who::default(), other, owner, admin, self.signed_out.clone(), self.key.clone()]
    }

    /// A conversation of the owner's with an answer that has a tool call.
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

    /// A row for something of the owner's, made for this one, and its address.
    async fn make(&self, model: &MockLlm, mut row: Row, owner: &Who, admin: &Who) -> (Row, String) {
        let (team, route) = (&self.team, row.route);
        // Of these there are none: what matters is who learns that.
        let mut address = route
            .replace("{id:.+}", "none")
            .replace("{id}", "resp_999999")
            .replace("{server}", "none")
            .replace("{tool}", "none")
            .replace("{identity_id}", "999999")
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
        if route.contains("{key_id}") {
            let key = team.json(owner, Method::POST, "/api/keys", json!({"name": "spare"}), 201).await;
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

on_every_engine! {
    async fn everybody_may_do_so_much_and_no_more(engine: Engine) {
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
                let response = row.request(&people.team, &each[place], &address).send().await.unwrap();
                let status = response.status().as_u16();
                let is_file = row.answers == FILE && status == 200;
                assert!(
                    status == row.answers[place] || is_file,
                    "{} {} by {}: {status} instead of {}",
                    row.method, row.route, NAMES[place], row.answers[place]
                );
                assert!(is_described(&document, &row, status), "{} {}: {status} is not described", row.method, row.route);
                if starts_turn && place == 2 {
                    // To its end, so that the next row has the conversation to itself.
                    response.text().await.unwrap();
                }
            }
            if ends_sessions {
                each = people.each().await;
            }
        }
        model.assert_calls_paired();
    }

    /// Its owner is answered as others are: at every address of it and below, by every method. Admins find it in the book.
    async fn nothing_of_a_deleted_conversation_is_found(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let people = People::start(&engine, &model).await;
        let [.., owner, admin, _, _] = people.each().await;
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

    /// The page is led to by the form, and is somebody's, too.
    async fn pages_are_their_owners(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let people = People::start(&engine, &model).await;
        let each = people.each().await;
        let team = &people.team;
        let uuid = team.conversation(&each[2]).await;
        let who_is_shown = ["", "otto", "olga", ADMIN, "", "otto"];
        for (route, answers) in PAGES {
            let path = route.replace("{uuid}", &uuid);
            for (place, who) in each.iter().enumerate() {
                let page = team.get(who, &path).await;
                assert_eq!(page.status().as_u16(), answers[place], "{route} by {}", NAMES[place]);
                if answers[place] == 303 {
                    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", &path).finish();
                    let form = if path == "/" { "/sign-in".to_owned() } else { format!("/sign-in?{query}") };
                    assert_eq!(page.headers()["location"], form.as_str());
                    continue;
                }
                // Going back after signing out must find nothing.
                assert_eq!(page.headers()["cache-control"], "no-store");
                let html = page.text().await.unwrap();
                for name in ["otto", "olga"] {
                    assert_eq!(html.contains(name), who_is_shown[place] == name, "{name} in {route} by {}", NAMES[place]);
                }
            }
        }
    }
}

/// The addresses of the page, with what everybody is answered.
const PAGES: [(&str, Answers); 3] = [
    ("/", [303, 200, 200, 200, 303, 200]),
    ("/settings", [303, 200, 200, 200, 303, 200]),
    ("/c/{uuid}", [303, 404, 200, 404, 303, 404]),
];

/// Whether the document of the API says that this may be answered, where it says anything of the address.
fn is_described(document: &Value, row: &Row, status: u16) -> bool {
    let item = &document["paths"][row.route.replace(":.+", "")];
    let method = row.method.as_str().to_lowercase();
    item.is_null() || !item[method]["responses"][status.to_string()].is_null()
}

/// The table has every address that the source has, and nothing else.
#[test]
fn every_address_is_judged() {
    let judged: BTreeSet<_> = rows().iter().map(|row| (row.method.to_string(), row.route.to_owned())).collect();
    let there = routes();
    assert!(there.len() > 40, "{there:?}");
    assert_eq!(judged, there);
}

/// The same of the page, whose addresses it knows itself.
#[test]
fn every_page_is_judged() {
    let source = include_str!("../../../../../frontend/src/address.rs");
    let parse = source.split("fn parse(").nth(1).unwrap().split("\n    }\n").next().unwrap();
    let there: BTreeSet<_> = parse.split('"').skip(1).step_by(2).map(|name| format!("/{name}")).collect();
    let judged = PAGES.map(|(route, _)| route.split('{').next().unwrap().to_owned());
    assert_eq!(there, BTreeSet::from(judged));
}

/// Every address with its methods, wherever in `http` it is registered: what is in a function named `api` is under `/api`.
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
            before.rsplit("\npub(super) fn ").next().filter(|it| it.len() < function.len()).unwrap_or(function);
        let prefix = [("api(", "/api"), ("v1(", "/v1")].iter().find(|(name, _)| function.starts_with(name));
        let prefix = prefix.map_or("", |(_, prefix)| prefix);
        let addresses: Vec<&str> = match part[1].strip_prefix('"') {
            Some(rest) => vec![rest.split('"').next().unwrap()],
            // The names of files, which stand in a list.
            None if part[1].starts_with("file)") => {
                let assets = include_str!("../../../src/http/assets.rs");
                let list = assets.split("UNVERSIONED: [").nth(1).unwrap().split(';').nth(1).unwrap();
                list.split('"').skip(1).step_by(2).collect()
            }
            None => panic!("an address that is no text: {}", &part[1][..40]),
        };
        for method in part[1].split(".on(Method::").skip(1) {
            let method = method.split(',').next().unwrap();
            found.extend(addresses.iter().map(|address| (method.to_owned(), format!("{prefix}{address}"))));
        }
    }
    found
}
