//! The table of permissions: every route and method, with the expected status for each caller. `rights` sends the
//! requests.

use reqwest::Method;
use serde_json::{Value, json};

use super::super::kit::PASSWORD;

/// Expected status for each caller: unauthenticated, another user, the owner, an admin, a signed-out user, and another
/// user's API key.
pub(crate) type Answers = [u16; 6];

/// For data of the caller's own, which every user has.
const OWN: Answers = [401, 200, 200, 200, 401, 200];
/// For data of the caller's own that API keys cannot read.
const PERSONAL: Answers = [401, 200, 200, 200, 401, 403];
/// For data of one user, if the owner gets status 200.
pub(crate) const SOMEBODYS: Answers = one_users(200);
/// For data that only admins can access.
const ADMINS: Answers = admins(200);
/// For data that is the same for all callers.
const PUBLIC: Answers = [200; 6];
/// For files of the web UI, which a build without a web UI does not have.
pub(crate) const FILE: Answers = [404; 6];

const fn one_users(status: u16) -> Answers {
    [401, 404, status, 404, 401, 404]
}

const fn admins(status: u16) -> Answers {
    [401, 403, 403, status, 401, 403]
}

/// Body of a request. Rows have none unless they set it.
pub(crate) enum Body {
    Nothing,
    Json(Value),
    Form(&'static str),
}

pub(crate) struct Row {
    pub(crate) method: Method,
    /// Route as it is registered.
    pub(crate) route: &'static str,
    /// Query string, appended to the address.
    pub(crate) query: &'static str,
    pub(crate) body: Body,
    pub(crate) answers: Answers,
}

pub(crate) fn row(method: Method, route: &'static str, answers: Answers) -> Row {
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

/// Returns all routes and methods, with the expected status for each caller.
#[expect(clippy::too_many_lines, reason = "a table with a line for each route")]
pub(crate) fn rows() -> Vec<Row> {
    let (get, post, patch, delete) = (Method::GET, Method::POST, Method::PATCH, Method::DELETE);
    let wrong = || json!({"name": "stranger", "password": "whatever it is"});
    let mut rows = rows_of_the_tool_history();
    rows.extend(rows_of_files());
    rows.extend([
        row(get.clone(), "/api/conversations", OWN),
        row(post.clone(), "/api/conversations", [401, 201, 201, 201, 401, 201]).json(json!({})),
        row(delete.clone(), "/api/conversations", PERSONAL),
        row(get.clone(), "/api/conversations/{uuid}", SOMEBODYS),
        row(patch.clone(), "/api/conversations/{uuid}", SOMEBODYS).json(json!({"title": "New"})),
        row(post.clone(), "/api/conversations/{uuid}/fork", one_users(201)).json(json!({"message_id": "{message_id}"})),
        row(get.clone(), "/api/conversations/{uuid}/export", SOMEBODYS).query("?format=json"),
        row(post.clone(), "/api/conversations/{uuid}/messages", SOMEBODYS).json(json!({"content": "Again"})),
        row(post.clone(), "/api/conversations/{uuid}/messages/{message_id}/regenerate", SOMEBODYS),
        row(post.clone(), "/api/conversations/{uuid}/messages/{message_id}/reasoning-summary", SOMEBODYS),
        row(Method::PUT, "/api/conversations/{uuid}/messages/{message_id}/feedback", SOMEBODYS)
            .json(json!({"rating": "up"})),
        row(delete.clone(), "/api/conversations/{uuid}/messages/{message_id}/feedback", one_users(204)),
        row(post.clone(), "/api/conversations/{uuid}/messages/{message_id}/select", SOMEBODYS),
        row(get.clone(), "/api/conversations/{uuid}/messages/{message_id}/playback", SOMEBODYS),
        row(get.clone(), "/api/conversations/{uuid}/messages/{message_id}/usage", SOMEBODYS),
        row(get.clone(), "/api/conversations/{uuid}/usage", SOMEBODYS),
        row(get.clone(), "/api/conversations/{uuid}/events", one_users(204)),
        row(post.clone(), "/api/conversations/{uuid}/continue", one_users(409)),
        row(post.clone(), "/api/conversations/{uuid}/stop", one_users(204)),
        row(get.clone(), "/api/conversations/{uuid}/search", SOMEBODYS).query("?query=sum"),
        row(get.clone(), "/api/tool-calls/{tool_call_id}", SOMEBODYS),
        row(post.clone(), "/api/conversations/{uuid}/shares", [401, 404, 201, 404, 401, 403]),
        row(get.clone(), "/api/shares", OWN),
        row(delete.clone(), "/api/shares/{share_id}", [401, 404, 204, 404, 401, 403]),
        row(get.clone(), "/s/{token}", [404; 6]),
        row(post.clone(), "/s/{token}/continue", [303, 404, 404, 404, 303, 403]).form(""),
        row(get.clone(), "/s/{token}/files/{file_id}/content", [404; 6]),
        row(delete.clone(), "/api/conversations/{uuid}", one_users(204)),
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
        row(post.clone(), "/api/files", [401, 201, 201, 201, 401, 201]).query("?name=notes.json").json(json!({})),
        row(get.clone(), "/api/files/{file_id}", SOMEBODYS),
        row(get.clone(), "/api/files/{file_id}/content", SOMEBODYS),
        row(get.clone(), "/api/files/{file_id}/text", SOMEBODYS),
        row(delete.clone(), "/api/files/{file_id}", one_users(204)),
        row(get.clone(), "/api/models", OWN),
        row(get.clone(), "/api/admin/models", ADMINS),
        row(post.clone(), "/api/admin/models", admins(422)).json(json!({"name": "Added", "provider": "acme"})),
        row(post.clone(), "/api/admin/models/discover", admins(422)).json(json!({"provider": "acme"})),
        row(post.clone(), "/api/admin/models/test", admins(422)).json(json!({"name": "Added", "provider": "acme"})),
        row(get.clone(), "/api/admin/models/{name}", admins(404)),
        row(patch.clone(), "/api/admin/models/{name}", admins(404)).json(json!({})),
        row(delete.clone(), "/api/admin/models/{name}", admins(404)),
        row(post.clone(), "/api/admin/models/{name}/test", admins(404)),
        row(get.clone(), "/api/tools", OWN),
        row(get.clone(), "/api/admin/tool-servers", ADMINS),
        row(post.clone(), "/api/admin/tool-servers", admins(422)).json(json!({"name": "Added", "url": "nowhere"})),
        row(post.clone(), "/api/admin/tool-servers/test", admins(422)).json(json!({"name": "Added", "url": "nowhere"})),
        row(get.clone(), "/api/admin/tool-servers/{name}", admins(404)),
        row(patch.clone(), "/api/admin/tool-servers/{name}", admins(404)).json(json!({})),
        row(delete.clone(), "/api/admin/tool-servers/{name}", admins(404)),
        row(post.clone(), "/api/admin/tool-servers/{name}/test", admins(404)),
        row(get.clone(), "/api/admin/settings", ADMINS),
        row(patch.clone(), "/api/admin/settings", admins(422)).json(json!({"no_such": 1})),
        row(get.clone(), "/api/admin/budgets", ADMINS),
        row(Method::PUT, "/api/admin/budgets", admins(422)).json(json!([{"principal": "nobody", "period": "day"}])),
        row(get.clone(), "/api/groups", ADMINS),
        row(post.clone(), "/api/groups", admins(422)).json(json!({"name": ""})),
        row(get.clone(), "/api/groups/{group_id}", admins(404)),
        row(patch.clone(), "/api/groups/{group_id}", admins(404)).json(json!({"name": "x"})),
        row(delete.clone(), "/api/groups/{group_id}", admins(404)),
        row(get.clone(), "/api/groups/{group_id}/members", admins(404)),
        row(Method::PUT, "/api/groups/{group_id}/members", admins(404)).json(json!({"user_ids": []})),
        row(get.clone(), "/api/admin/settings/history", ADMINS),
        row(post.clone(), "/api/admin/settings/history/{change_id}/restore", admins(404)).json(json!({})),
        row(get.clone(), "/api/sessions", PERSONAL),
        row(delete.clone(), "/api/sessions/{session_id}", [401, 404, 204, 404, 401, 403]),
        row(get.clone(), "/api/keys", PERSONAL),
        row(post.clone(), "/api/keys", [401, 201, 201, 201, 401, 403])
            .json(json!({"name": "mine", "password": PASSWORD})),
        row(delete.clone(), "/api/keys/{key_id}", [401, 404, 204, 404, 401, 403]),
        row(get.clone(), "/api/me", OWN),
        row(patch.clone(), "/api/me", PERSONAL).json(json!({"instructions": "Be kind."})),
        // Requests that need the password are refused with a wrong one.
        row(delete.clone(), "/api/me", [401, 403, 403, 403, 401, 403]).json(json!({"password": "not it"})),
        row(Method::PUT, "/api/me/password", [401, 403, 403, 403, 401, 403])
            .json(json!({"current": "not it", "new": PASSWORD})),
        row(get.clone(), "/api/me/export", PERSONAL),
        row(get.clone(), "/api/users", ADMINS),
        row(post.clone(), "/api/users", admins(201)).json(json!({"name": "zoe", "password": PASSWORD})),
        row(get.clone(), "/api/users/{user_id}", ADMINS),
        row(patch, "/api/users/{user_id}", ADMINS).json(json!({"role": "user"})),
        row(delete.clone(), "/api/users/{user_id}", admins(204)),
        // Routes for the identity provider, which is not configured here.
        row(get.clone(), "/sign-in/away", [404; 6]),
        row(get.clone(), "/sign-in/callback", [404; 6]).query("?code=x&state=x"),
        row(get.clone(), "/api/identities", PERSONAL),
        row(post.clone(), "/api/identities", [401, 404, 404, 404, 401, 403]).json(json!({"password": PASSWORD})),
        row(delete.clone(), "/api/identities/{identity_id}", [401, 404, 404, 404, 401, 403]),
        row(get.clone(), "/api/users/{user_id}/identities", ADMINS),
        row(delete.clone(), "/api/users/{user_id}/identities/{identity_id}", admins(404)),
        row(get.clone(), "/api/users/{user_id}/keys", ADMINS),
        row(delete.clone(), "/api/users/{user_id}/keys/{key_id}", admins(404)),
        row(get.clone(), "/api/invitations", ADMINS),
        row(post.clone(), "/api/invitations", admins(201)),
        row(delete.clone(), "/api/invitations/{invitation_id}", admins(404)),
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
        row(Method::PUT, "/api/looks/seen", [401, 204, 204, 204, 401, 403]).json(json!({"id": 1})),
        row(get.clone(), "/openapi.json", PUBLIC),
        row(get.clone(), "/docs/api", PUBLIC),
        row(get.clone(), "/healthz", PUBLIC),
        row(get.clone(), "/readyz", PUBLIC),
        row(get.clone(), "/metrics", ADMINS),
        row(get.clone(), "/sign-in", [200, 303, 303, 303, 200, 303]),
        row(post.clone(), "/sign-in", [401; 6]).form("name=nobody&password=whatever&next=/"),
        row(get.clone(), "/setup", [410; 6]).query("?token=x"),
        row(post.clone(), "/setup", [410; 6]).form("name=eve&password=a+password+of+some+length&token=x"),
        row(get, "/invitation", [410; 6]).query("?token=x"),
        row(post.clone(), "/invitation", [410; 6]).form("name=eve&password=a+password+of+some+length&token=x"),
        // Requests to the following routes may end sessions.
        row(post.clone(), "/api/session", [401; 6]).json(wrong()),
        row(post, "/sign-out", [303; 6]),
        row(delete.clone(), "/api/session", [401, 204, 204, 204, 401, 403]),
        row(delete, "/api/sessions", [401, 204, 204, 204, 401, 403]),
    ]);
    rows
}

fn rows_of_files() -> impl Iterator<Item = Row> {
    let files = [
        "/pkg/{version}/{file}",
        "/service-worker.js",
        "/licenses",
        "/favicon.svg",
        "/manifest.webmanifest",
        "/icon-192.png",
        "/icon-512.png",
        "/icon-maskable-512.png",
    ];
    files.into_iter().map(|file| row(Method::GET, file, FILE))
}

fn rows_of_the_tool_history() -> Vec<Row> {
    let (get, post) = (Method::GET, Method::POST);
    vec![
        // Admins must give a reason to access data of another user.
        row(get.clone(), "/admin", [303, 403, 403, 200, 303, 403]),
        row(get.clone(), "/admin/tool-history.js", [303, 403, 403, 200, 303, 403]),
        row(get.clone(), "/admin/figures", [303, 403, 403, 200, 303, 403]),
        row(get.clone(), "/admin/export", [303, 403, 403, 403, 303, 403]).query("?format=csv"),
        row(get.clone(), "/admin/calls/{tool_call_id}", [303, 403, 403, 403, 303, 403]),
        row(get.clone(), "/admin/calls/{tool_call_id}/playback", [303, 403, 403, 403, 303, 403]),
        row(get.clone(), "/admin/conversations/{uuid}", [303, 403, 403, 403, 303, 403]),
        row(get.clone(), "/admin/groups", [303, 403, 403, 200, 303, 403]),
        row(post.clone(), "/admin/groups", admins(422)).form("name="),
        row(get.clone(), "/admin/groups/{group_id}", [303, 403, 403, 404, 303, 403]),
        row(post.clone(), "/admin/groups/{group_id}", admins(404)).form("name=x&version=1"),
        row(post.clone(), "/admin/groups/{group_id}/delete", admins(404)).form("version=1"),
        row(get.clone(), "/admin/budgets", [303, 403, 403, 200, 303, 403]),
        row(post.clone(), "/admin/budgets", admins(412)).form("version=7"),
        row(get, "/admin/settings", [303, 403, 403, 200, 303, 403]),
        row(post.clone(), "/admin/settings", admins(412)).form("version=7"),
        row(post.clone(), "/admin/settings/{change_id}/restore", admins(412)).form("version=7"),
        row(post.clone(), "/admin", admins(303)).form("reason=because"),
        row(post.clone(), "/admin/export", admins(303)).query("?format=csv").form("reason=because"),
        row(post.clone(), "/admin/calls/{tool_call_id}", admins(303)).form("reason=because"),
        row(post.clone(), "/admin/calls/{tool_call_id}/playback", admins(303)).form("reason=because"),
        row(post.clone(), "/admin/conversations/{uuid}", admins(303)).form("reason=because"),
        // The admin has given a reason for this call above.
        row(post, "/admin/calls/{tool_call_id}/reruns", admins(303)).form("input={}"),
    ]
}

/// Pages of the web UI, with the expected status for each caller.
pub(crate) const PAGES: [(&str, Answers); 3] = [
    ("/", [303, 200, 200, 200, 303, 200]),
    ("/settings", [303, 200, 200, 200, 303, 200]),
    ("/c/{uuid}", [303, 404, 200, 404, 303, 404]),
];
