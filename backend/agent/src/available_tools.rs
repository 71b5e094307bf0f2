//! The tools available to a model: Tallybook's, which run on the server, and the API client's, whose calls are returned
//! to the client. If two tools have the same name, the client's tool is used.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use tallybook_tools::{ToolRegistry, ToolSpec};

use super::turn::PlannedCall;

/// The tools of one turn.
pub(crate) struct AvailableTools {
    /// The tools sent to the model, in order of their names.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// The names of the API client's tools.
    client_calls: BTreeSet<String>,
    /// Input schemas of Tallybook's unavailable tools that have secret arguments, by name.
    absent: BTreeMap<String, Arc<Value>>,
}

impl AvailableTools {
    pub(crate) fn new(server_calls: &ToolRegistry, client_calls: Vec<ToolSpec>) -> Self {
        let names = client_calls.iter().map(|tool| tool.name.clone()).collect();
        let absent =
            server_calls.absent_schemas().map(|(name, schema)| (name.to_owned(), Arc::clone(schema))).collect();
        let server_calls = server_calls.specs();
        let all = server_calls.iter().cloned().chain(client_calls).map(|tool| (tool.name.clone(), tool));
        let by_name: BTreeMap<String, ToolSpec> = all.collect();
        Self { specs: by_name.into_values().collect(), client_calls: names, absent }
    }

    /// Returns the input schema of one of Tallybook's tools, which may be unavailable in this turn. Returns `None` if
    /// the name belongs to the client or is unknown.
    pub(crate) fn find_schema(&self, name: &str) -> Option<&Value> {
        if self.client_calls.contains(name) {
            return None;
        }
        let offered = self.specs.iter().find(|tool| tool.name == name).map(|tool| &tool.input_schema);
        offered.or_else(|| self.absent.get(name).map(AsRef::as_ref))
    }

    /// Returns the calls of a step that run on the server, and `true` if there are other calls.
    pub(crate) fn server_calls(&self, calls: Vec<PlannedCall>) -> (Vec<PlannedCall>, bool) {
        let all = calls.len();
        let server_calls: Vec<_> =
            calls.into_iter().filter(|call| !self.client_calls.contains(&call.request.name)).collect();
        let has_theirs = server_calls.len() < all;
        (server_calls, has_theirs)
    }
}
