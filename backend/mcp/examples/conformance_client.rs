//! Client for MCP's conformance suite (`cargo xtask conformance`). Its last argument is the URL of a server. It
//! connects to the server, lists its tools and calls them, with the same code that a turn uses.

#![allow(clippy::print_stderr, reason = "the suite shows what its client writes")]

use std::{env, sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use tallybook_mcp::{AcceptAll, PinStore, Status, ToolServers, ToolServersSettings, read_servers_file};
use tallybook_tools::{Secrets, ToolRegistry, ToolSpec};
use tokio::time::timeout;

/// Timeout for connecting to the server, and for each call.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Sample values by type, for calls whose arguments the suite does not specify.
const SAMPLES: [(&str, Sample); 5] = [
    ("string", || json!("sample")),
    ("integer", || json!(2)),
    ("number", || json!(2)),
    ("boolean", || json!(true)),
    ("object", || json!({})),
];

/// Creates a value.
type Sample = fn() -> Value;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tallybook_http_client::install_crypto_provider();
    let url = env::args().next_back().ok_or("the address of the server is the last argument")?;
    let context: Value =
        serde_json::from_str(&env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default()).unwrap_or_default();
    let pins: Arc<dyn PinStore> = Arc::new(AcceptAll);
    let servers = ToolServers::start(ToolRegistry::default(), settings(&url)?, &pins, &Secrets::default(), |name| {
        env::var(name).ok()
    });
    let mut changes = servers.changes();
    let connected = async {
        loop {
            let Some(report) = servers.reports().into_iter().next() else { return };
            eprintln!("{report:?}");
            if report.status == Status::Connected {
                return;
            }
            if changes.changed().await.is_err() {
                return;
            }
        }
    };
    let in_time = timeout(TIMEOUT, connected).await;
    let tools = servers.tools();
    for (name, arguments) in calls(&tools.specs(), &context) {
        let outcome = timeout(TIMEOUT, tools.call(&name, &Value::Object(arguments).to_string())).await;
        eprintln!("{name}: {outcome:?}");
    }
    servers.shut_down().await;
    Ok(in_time?)
}

fn settings(url: &str) -> Result<ToolServersSettings, Box<dyn std::error::Error>> {
    let file = json!({ "mcpServers": { "suite": { "url": url, "risk": "low" } } });
    Ok(read_servers_file(&file.to_string())?)
}

/// Returns the calls that the suite asks for, or one call of each tool if it asks for none.
fn calls(specs: &[ToolSpec], context: &Value) -> Vec<(String, Map<String, Value>)> {
    let asked = context["toolCalls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = asked.iter().filter_map(|call| {
        Some((format!("suite__{}", call["name"].as_str()?), call["arguments"].as_object()?.clone()))
    });
    let asked: Vec<_> = asked.collect();
    if asked.is_empty() { specs.iter().map(|spec| (spec.name.clone(), samples(spec, specs))).collect() } else { asked }
}

fn samples(spec: &ToolSpec, others: &[ToolSpec]) -> Map<String, Value> {
    // One scenario expects the schema of the other tool as an argument.
    let schema = |name: &str| others.iter().find(|other| name == "schema" && other.name != spec.name);
    let properties = spec.input_schema["properties"].as_object().cloned().unwrap_or_default();
    let sample = |schema: &Value| {
        let kind = schema["type"].as_str().unwrap_or("string");
        SAMPLES.iter().find(|(known, _)| *known == kind).map_or(Value::Null, |(_, sample)| sample())
    };
    let value = |name: &str, of: &Value| schema(name).map_or_else(|| sample(of), |other| other.input_schema.clone());
    properties.iter().map(|(name, of)| (name.clone(), value(name, of))).collect()
}
