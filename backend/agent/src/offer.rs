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
pub(crate) struct Offer {
    /// The tools sent to the model, in order of their names.
    pub(crate) specs: Arc<[ToolSpec]>,
    /// The names of the API client's tools.
    theirs: BTreeSet<String>,
    /// Input schemas of Tallybook's unavailable tools that have secret arguments, by name.
    absent: BTreeMap<String, Arc<Value>>,
}

impl Offer {
    pub(crate) fn new(ours: &ToolRegistry, theirs: Vec<ToolSpec>) -> Self {
        let names = theirs.iter().map(|tool| tool.name.clone()).collect();
        let absent = ours.absent_schemas().map(|(name, schema)| (name.to_owned(), Arc::clone(schema))).collect();
        let ours = ours.specs();
        let all = ours.iter().cloned().chain(theirs).map(|tool| (tool.name.clone(), tool));
        let by_name: BTreeMap<String, ToolSpec> = all.collect();
        Self { specs: by_name.into_values().collect(), theirs: names, absent }
    }

    /// Returns the input schema of one of Tallybook's tools, which may be unavailable in this turn. Returns `None` if
    /// the name belongs to the client or is unknown.
    pub(crate) fn find_schema(&self, name: &str) -> Option<&Value> {
        if self.theirs.contains(name) {
            return None;
        }
        let offered = self.specs.iter().find(|tool| tool.name == name).map(|tool| &tool.input_schema);
        offered.or_else(|| self.absent.get(name).map(AsRef::as_ref))
    }

    /// Returns the calls of a step that run on the server, and `true` if there are other calls.
    pub(crate) fn ours(&self, calls: Vec<PlannedCall>) -> (Vec<PlannedCall>, bool) {
        let all = calls.len();
        let ours: Vec<_> = calls.into_iter().filter(|call| !self.theirs.contains(&call.request.name)).collect();
        let has_theirs = ours.len() < all;
        (ours, has_theirs)
    }
}
