//! Recent secrets: the access tokens obtained last, and the secret arguments of the latest calls. A tool server may
//! repeat a secret outside the call's response: on standard error, in its metadata, or after the call. Such text cannot
//! be assigned to a call, so all recent secrets are redacted in it. Recent secrets are kept only in memory.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
/// Maximum number of calls (or tokens) whose secrets are kept, and maximum total size of these, in bytes. The oldest
/// are dropped first.
const MAX_CALLS: usize = 200;
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Secret values, grouped by call or token, newest last.
#[derive(Default)]
pub(crate) struct RecentSecrets(Mutex<VecDeque<Arc<[String]>>>);

impl RecentSecrets {
    /// Adds the secrets of a call, or a token, as the newest entry. Drops the oldest entries that exceed the limits.
    pub(crate) fn add(&self, values: &Arc<[String]>) {
        if values.is_empty() {
            return;
        }
        let mut calls = self.lock();
        calls.retain(|known| known != values);
        calls.push_back(Arc::clone(values));
        let mut bytes: usize = calls.iter().map(|values| size(values)).sum();
        // The newest entry stays, however large it is.
        while calls.len() > 1 && (calls.len() > MAX_CALLS || bytes > MAX_BYTES) {
            bytes -= calls.pop_front().map_or(0, |values| size(&values));
        }
    }

    /// Returns all entries.
    pub(crate) fn all(&self) -> Vec<Arc<[String]>> {
        self.lock().iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<[String]>>> {
        self.0.lock()
    }
}

fn size(values: &[String]) -> usize {
    values.iter().map(String::len).sum()
}

#[cfg(test)]
mod tests {
    use super::{MAX_BYTES, MAX_CALLS, RecentSecrets};

    #[test]
    fn a_bounded_number_is_remembered_and_the_latest_stay() {
        let recent = RecentSecrets::default();
        let add = |value: String| recent.add(&[value].into());
        for number in 0..2 * MAX_CALLS {
            add(number.to_string());
            add("again".to_owned());
        }
        let calls = recent.all();
        assert_eq!((calls.len(), &*calls[MAX_CALLS - 1]), (MAX_CALLS, &["again".to_owned()][..]));
        add("x".repeat(MAX_BYTES + 1));
        assert_eq!(recent.all().len(), 1);
        recent.add(&[].into());
        assert_eq!(recent.all().len(), 1);
    }
}
