//! What became known to be secret of late: the tokens that were got last, and the secret arguments of the latest calls. A tool server may repeat one beside its answer, on its standard error or in what it
//! says of itself, and later than the call: then nobody knows any more of which call it is. They are in memory alone.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Calls whose arguments are remembered, or tokens, and their bytes; the oldest are forgotten first.
const MAX_CALLS: usize = 200;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Values of calls, or tokens, the latest last.
#[derive(Default)]
pub(super) struct Lately(Mutex<VecDeque<Arc<[String]>>>);

impl Lately {
    /// Remembers those of a call, or a token, of which the latest are the longest to stay.
    pub(super) fn add(&self, values: &Arc<[String]>) {
        if values.is_empty() {
            return;
        }
        let mut calls = self.lock();
        calls.retain(|known| known != values);
        calls.push_back(Arc::clone(values));
        let mut bytes: usize = calls.iter().map(|values| size(values)).sum();
        // The latest stays, however long it is.
        while calls.len() > 1 && (calls.len() > MAX_CALLS || bytes > MAX_BYTES) {
            bytes -= calls.pop_front().map_or(0, |values| size(&values));
        }
    }

    /// Those of each.
    pub(super) fn all(&self) -> Vec<Arc<[String]>> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<[String]>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn size(values: &[String]) -> usize {
    values.iter().map(String::len).sum()
}

#[cfg(test)]
mod tests {
    use super::{Lately, MAX_BYTES, MAX_CALLS};

    #[test]
    fn a_bounded_number_is_remembered_and_the_latest_stay() {
        let lately = Lately::default();
        let add = |value: String| lately.add(&[value].into());
        for number in 0..2 * MAX_CALLS {
            add(number.to_string());
            add("again".to_owned());
        }
        let calls = lately.all();
        assert_eq!((calls.len(), &*calls[MAX_CALLS - 1]), (MAX_CALLS, &["again".to_owned()][..]));
        add("x".repeat(MAX_BYTES + 1));
        assert_eq!(lately.all().len(), 1);
        lately.add(&[].into());
        assert_eq!(lately.all().len(), 1);
    }
}
