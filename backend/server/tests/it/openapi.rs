//! The document of the API: it describes every route and no other, it is consistent, and the page for it shows
//! everything.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use crate::{
    accounts::rights,
    support::{Engine, TestApp},
};

/// Prefixes of paths outside of the API: pages, forms and files for browsers.
const PAGES: [&str; 12] = [
    "/admin",
    "/docs/",
    "/favicon.svg",
    "/icon-",
    "/invitation",
    "/licenses",
    "/manifest.webmanifest",
    "/pkg/",
    "/s/",
    "/service-worker.js",
    "/setup",
    "/sign-",
];

async fn start() -> TestApp {
    let model = MockLlm::start().await.unwrap();
    TestApp::spawn(&Engine::sqlite(), &model).await
}

/// Returns every operation, by its method and path.
fn operations(document: &Value) -> BTreeMap<(String, String), &Value> {
    let mut found = BTreeMap::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            found.insert((method.to_uppercase(), path.clone()), operation);
        }
    }
    found
}

/// Fails for a route that is not described, and for a description without a route.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_describes_exactly_the_routes() {
    let document = start().await.get_json("/openapi.json").await;
    let described: BTreeSet<_> = operations(&document).into_keys().collect();
    let is_page = |path: &str| PAGES.iter().any(|page| path.starts_with(page));
    let there = rights::routes().into_iter().filter(|(_, path)| !is_page(path));
    let there: BTreeSet<_> = there.map(|(method, path)| (method, path.replace(":.+", ""))).collect();
    assert!(described.len() > 60, "{described:?}");
    assert_eq!(described, there);
}

/// A client generator finds every name that the document refers to. Each operation has its own name, and each error
/// response has the format of its part of the API.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_is_consistent() {
    let document = start().await.get_json("/openapi.json").await;
    assert_eq!(document["openapi"], "3.1.0");
    let mut references = BTreeSet::new();
    collect(&document, &mut references);
    assert!(references.len() > 50, "{references:?}");
    for reference in references {
        assert!(document.pointer(reference.strip_prefix('#').unwrap()).is_some(), "{reference}");
    }
    let subjects: Vec<&Value> = document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    let mut names = BTreeSet::new();
    for ((method, path), operation) in operations(&document) {
        let name = operation["operationId"].as_str().unwrap();
        assert!(names.insert(name), "{name} is named twice");
        assert!(subjects.contains(&&operation["tags"][0]), "{name} has an unknown tag");
        assert!(operation["summary"].as_str().is_some_and(|words| words.ends_with('.')), "{name} has no summary");
        let segments = path.matches('{').count();
        let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
        assert_eq!(parameters.iter().filter(|one| one["in"] == "path").count(), segments, "{method} {path}");
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let form = if path.starts_with("/v1/") { "application/json" } else { "application/problem+json" };
            // A method that MCP does not have is refused in MCP's own format.
            let is_refusal = status.starts_with(['4', '5']) && (path.as_str(), status.as_str()) != ("/mcp", "404");
            assert!(!is_refusal || !answer["content"][form].is_null(), "{method} {path} {status}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_that_change_settings_are_described() {
    let document = start().await.get_json("/openapi.json").await;
    for (path, members) in [
        ("/api/admin/models/{name}", ["name", "base_url", "context_tokens", "api_key"]),
        ("/api/admin/tool-servers/{name}", ["name", "url", "timeout_secs", "headers"]),
        ("/api/admin/settings", ["default_model", "llm_titles", "sharing", "retention_days"]),
    ] {
        let body = &document["paths"][path]["patch"]["requestBody"]["content"]["application/json"]["schema"];
        for member in members {
            let described = &body["properties"][member];
            let kinds = [&described["type"], &described["oneOf"]];
            let has_null = kinds.iter().any(|kinds| kinds.to_string().contains("\"null\""));
            assert!(
                has_null && described["description"].as_str().or(described["oneOf"].as_array().map(|_| "")).is_some(),
                "{path} {member}: {body}"
            );
        }
        assert!(body.get("required").is_none(), "{path}");
    }
}

fn collect(value: &Value, references: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, references)),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(path) if name == "$ref" => {
                        references.insert(path.clone());
                    }
                    Value::String(words) if name == "description" => {
                        assert!(!words.contains("[`") && !words.contains("crate::"), "{words}");
                    }
                    _ => collect(field, references),
                }
            }
        }
        _ => {}
    }
}

/// Without accounts, users do not sign in, so no operation needs an API key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_accounts_no_operation_needs_a_key() {
    let document = start().await.get_json("/openapi.json").await;
    assert!(document["components"]["securitySchemes"].is_null());
    for ((method, path), operation) in operations(&document) {
        assert_eq!(operation["security"], json!([]), "{method} {path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_is_compressed_and_cached() {
    let app = start().await;
    let ask =
        |header: &'static str, value: String| app.client.get(app.url("/openapi.json")).header(header, value).send();
    let whole = app.get("/openapi.json").await;
    assert_eq!(
        (&whole.headers()["content-type"], &whole.headers()["cache-control"]),
        (&"application/json".parse().unwrap(), &"no-cache".parse().unwrap())
    );
    let tag = whole.headers()["etag"].to_str().unwrap().to_owned();
    let small = ask("accept-encoding", "gzip".to_owned()).await.unwrap();
    assert_eq!(small.headers()["content-encoding"], "gzip");
    assert_ne!(small.headers()["etag"], tag.as_str());
    assert!(4 * small.bytes().await.unwrap().len() < whole.bytes().await.unwrap().len());
    assert_eq!(ask("if-none-match", tag).await.unwrap().status(), 304);
}

/// The page shows the whole document in both languages, without scripts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_shows_every_operation_without_scripts() {
    let app = start().await;
    let document = app.get_json("/openapi.json").await;
    for (language, title) in [("en", "Before you begin"), ("ja", "はじめに")] {
        let page = app.client.get(app.url("/docs/api")).header("accept-language", language).send().await.unwrap();
        let policy = page.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self'") && !policy.contains("script"), "{policy}");
        let html = page.text().await.unwrap();
        assert!(html.contains(title) && html.contains(&format!("<html lang=\"{language}\"")));
        assert!(!html.contains("<script") && !html.contains("style=") && !html.contains("javascript:"));
        for ((method, path), operation) in operations(&document) {
            let name = operation["operationId"].as_str().unwrap();
            assert!(html.contains(&format!("id=\"{name}\"")), "{method} {path}");
        }
        for name in document["components"]["schemas"].as_object().unwrap().keys() {
            assert!(html.contains(&format!("id=\"schema-{name}\"")), "{name}");
        }
        // Every link within the page has a target.
        for target in html.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            assert!(html.contains(&format!("id=\"{target}\"")), "#{target}");
        }
    }
}

/// Every event of a turn, and each of its fields, is in the document about events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_about_events_has_every_field() {
    let events = include_str!("../../../../docs/reference/events.md");
    let document = start().await.get_json("/openapi.json").await;
    let schemas = &document["components"]["schemas"];
    let frames = schemas["ChatEvent"]["oneOf"].as_array().unwrap();
    assert!(frames.len() > 12, "{frames:?}");
    for frame in frames {
        let event = &frame["properties"]["event"];
        let name = event["const"].as_str().or(event["enum"][0].as_str()).unwrap();
        let heading = events.lines().find(|line| line.starts_with("### ") && line.contains(&format!("`{name}`")));
        let heading = heading.unwrap_or_else(|| panic!("{name} has no heading"));
        let section = events.split(heading).nth(1).unwrap().split("\n##").next().unwrap();
        let data = frame["properties"]["data"].to_string();
        let data = data.split("#/components/schemas/").nth(1).unwrap().split('"').next().unwrap();
        for field in schemas[data]["properties"].as_object().unwrap().keys() {
            assert!(section.contains(&format!("`{field}`")), "{name} lacks {field}");
        }
    }
}
