//! Which tools a model is offered, and whose they are: ours, which are run here, and those of the program that asks, whose
//! calls are handed back to it. Of two tools of one name the program's is meant.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::Value;
use tallybook_tools::{ToolRegistry, ToolSpec};

use super::turn::PlannedCall;

/// The tools of one turn.
pub(super) struct Offer {
    /// What the model is told, in the order of names.
    pub(super) specs: Arc<[ToolSpec]>,
    /// The names of the program's.
    theirs: BTreeSet<String>,
    /// What is known of tools of ours that are not offered, by their names.
    absent: BTreeMap<String, Arc<Value>>,
}

impl Offer {
    pub(super) fn new(ours: &ToolRegistry, theirs: Vec<ToolSpec>) -> Self {
        let names = theirs.iter().map(|tool| tool.name.clone()).collect();
        let absent = ours.absent_schemas().map(|(name, schema)| (name.to_owned(), Arc::clone(schema))).collect();
        let ours = ours.specs();
        let all = ours.iter().cloned().chain(theirs).map(|tool| (tool.name.clone(), tool));
        let by_name: BTreeMap<String, ToolSpec> = all.collect();
        Self { specs: by_name.into_values().collect(), theirs: names, absent }
    }

    /// What a tool of ours takes, which may be one that is not offered.
    pub(super) fn find_schema(&self, name: &str) -> Option<&Value> {
        if self.theirs.contains(name) {
            return None;
        }
        let offered = self.specs.iter().find(|tool| tool.name == name).map(|tool| &tool.input_schema);
        offered.or_else(|| self.absent.get(name).map(AsRef::as_ref))
    }

    /// Those of a step's calls that are run here, and whether there are others.
    pub(super) fn ours(&self, calls: Vec<PlannedCall>) -> (Vec<PlannedCall>, bool) {
        let all = calls.len();
        let ours: Vec<_> = calls.into_iter().filter(|call| !self.theirs.contains(&call.request.name)).collect();
        let has_theirs = ours.len() < all;
        (ours, has_theirs)
    }
}
