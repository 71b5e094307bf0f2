//! A tool on which duplicate calls show, because it notes its arguments. Only the tool itself knows how often it ran:
//! the rows of calls say only what the server knows.

use std::collections::HashMap;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use tallybook_mock_mcp::{MockMcp, ScriptedTool};
use tallybook_protocol::{Message, ToolCall, ToolCallStatus, ToolList};
use tokio::time::{Duration, Instant, sleep};

use super::servers::Servers;

/// Name of the tool's server in the settings.
pub(crate) const SERVER: &str = "witness";

/// The tool's name for models.
pub(super) const TOOL: &str = "witness__note";

/// The tool's output.
const NOTED: &str = "noted";

/// Timeout for the servers to find the tool.
const TIMEOUT: Duration = Duration::from_mins(2);

/// The tool and its server. Dropping this stops the server.
pub(super) struct Witness(MockMcp);

/// Bounds on how often the tool ran, according to the stored calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Number of calls that certainly ran.
    pub(super) least: usize,
    /// Number of those calls plus the interrupted ones, of which it is unknown whether they ran.
    pub(super) most: usize,
}

impl Witness {
    /// Serves the tool on a port of 127.0.0.1; 0 selects a free port.
    pub(super) async fn start(port: u16) -> Result<Self> {
        let tool = ScriptedTool {
            name: "note".to_owned(),
            description: "Notes its argument.".to_owned(),
            argument: "what".to_owned(),
            answers: [].into(),
            otherwise: NOTED.to_owned(),
        };
        let started = MockMcp::scripted_on_port(vec![tool], port).await;
        Ok(Self(started.context("cannot serve the tool")?))
    }

    /// Returns the URL of the server.
    pub(super) fn url(&self) -> String {
        self.0.url()
    }

    /// Waits until all servers have the tool.
    pub(super) async fn wait_until_offered(&self, servers: &Servers) -> Result<()> {
        let until = Instant::now() + TIMEOUT;
        for number in 0..servers.urls.len() {
            loop {
                let url = format!("{}/api/tools", servers.url(number, 0));
                if let Ok(response) = servers.client.get(url).send().await
                    && let Ok(list) = response.json::<ToolList>().await
                    && list.items.iter().any(|tool| tool.name == TOOL)
                {
                    break;
                }
                ensure!(
                    Instant::now() < until,
                    "the server does not offer {TOOL}; its settings must name {}",
                    self.url()
                );
                sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }

    /// Returns the notes, and how often each was made.
    pub(super) fn noted(&self) -> HashMap<String, usize> {
        let mut noted = HashMap::new();
        for message in self.0.received() {
            let body = message.lines().last().and_then(|line| serde_json::from_str::<Value>(line).ok());
            let what = body.as_ref().filter(|body| body["method"] == "tools/call");
            if let Some(what) = what.and_then(|body| body["params"]["arguments"]["what"].as_str()) {
                *noted.entry(what.to_owned()).or_default() += 1;
            }
        }
        noted
    }
}

/// Returns how often the tool ran, according to the stored calls of the answer. There must be exactly one call that
/// succeeded or was interrupted, because an interrupted call is never retried.
pub(super) fn known(answer: &Message) -> Result<Known> {
    let of = |status| move |call: &&ToolCall| call.tool_name == TOOL && call.status == status;
    let calls = || answer.tool_calls.iter();
    let succeeded = calls().filter(of(ToolCallStatus::Success)).count();
    let cut_off = calls().filter(of(ToolCallStatus::Interrupted)).count();
    let never_made = calls().filter(of(ToolCallStatus::Cancelled)).count();
    let all = calls().filter(|call| call.tool_name == TOOL).count();
    ensure!(succeeded + cut_off + never_made == all, "a call of {TOOL} failed: {:?}", answer.tool_calls);
    ensure!(succeeded + cut_off == 1, "{TOOL} succeeded {succeeded} times and was interrupted {cut_off} times");
    let output = calls().find(of(ToolCallStatus::Success)).map(|call| call.output.as_deref());
    ensure!(
        output.is_none_or(|output| output.is_some_and(|output| output.contains(NOTED))),
        "{TOOL} returned {output:?}"
    );
    Ok(Known { least: succeeded, most: succeeded + cut_off })
}

/// Compares the stored calls with how often the tool itself ran.
pub(super) fn compare(known: Known, noted: usize) -> Result<()> {
    let Known { least, most } = known;
    ensure!(
        (least..=most).contains(&noted),
        "{TOOL} ran {noted} times, but {least} to {most} times according to the stored calls"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use reqwest::Client;
    use serde_json::json;

    use super::{Known, Witness, compare};

    #[tokio::test]
    async fn the_witness_counts_its_notes() {
        // As in the program: the HTTP client needs a crypto provider, although nothing is encrypted.
        tallybook_http_client::install_crypto_provider();
        let witness = Witness::start(0).await.unwrap();
        let call = |what: &str| {
            let params = json!({ "name": "note", "arguments": { "what": what } });
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            Client::new().post(witness.url()).json(&call)
        };
        for what in ["a", "b", "a"] {
            let text = call(what).send().await.unwrap().text().await.unwrap();
            assert!(text.contains("noted"), "{text}");
        }
        assert_eq!(witness.noted(), [("a".to_owned(), 2), ("b".to_owned(), 1)].into());
    }

    #[test]
    fn calls_that_ran_twice_or_never_are_detected() {
        let (done, cut_off) = (Known { least: 1, most: 1 }, Known { least: 0, most: 1 });
        assert_eq!([0, 1, 2].map(|noted| compare(done, noted).is_ok()), [false, true, false]);
        assert_eq!([0, 1, 2].map(|noted| compare(cut_off, noted).is_ok()), [true, true, false]);
    }
}
