//! Which tools a model is offered, and whose they are: ours, which are run here, and those of the program that asks, whose
//! calls are handed back to it. Of two tools of one name the program's is meant.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use tallybook_tools::{ToolRegistry, ToolSpec};

use super::turn::PlannedCall;

/// The tools of one turn.
pub(super) struct Offer {
    /// What the model is told, in the order of names.
    pub(super) specs: Arc<[ToolSpec]>,
    /// The names of the program's.
    theirs: BTreeSet<String>,
}

impl Offer {
    pub(super) fn new(ours: &ToolRegistry, theirs: Vec<ToolSpec>) -> Self {
        let names = theirs.iter().map(|tool| tool.name.clone()).collect();
        let ours = ours.specs();
        let all = ours.iter().cloned().chain(theirs).map(|tool| (tool.name.clone(), tool));
        let by_name: BTreeMap<String, ToolSpec> = all.collect();
        Self { specs: by_name.into_values().collect(), theirs: names }
    }

    /// A tool that is run here.
    pub(super) fn find_ours(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|tool| tool.name == name && !self.theirs.contains(name))
    }

    /// Those of a step's calls that are run here, and whether there are others.
    pub(super) fn ours(&self, calls: Vec<PlannedCall>) -> (Vec<PlannedCall>, bool) {
        let all = calls.len();
        let ours: Vec<_> = calls.into_iter().filter(|call| !self.theirs.contains(&call.request.name)).collect();
        let has_theirs = ours.len() < all;
        (ours, has_theirs)
    }
}
