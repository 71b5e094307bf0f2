//! Limits, lifetimes and intervals of accounts, sessions and API keys.

use chrono::Duration;

/// Minimum length of a password, in characters.
pub(crate) const MIN_PASSWORD_CHARS: usize = 12;
/// Maximum length of a password, in bytes.
pub(crate) const MAX_PASSWORD_BYTES: usize = 1024;
/// Maximum length of the name of a user or an API key, in characters.
pub(crate) const MAX_NAME_CHARS: usize = 64;
/// Maximum length of a stored user agent, in characters. Longer ones are truncated.
pub(crate) const MAX_USER_AGENT_CHARS: usize = 200;

/// Maximum number of sessions of a user. A new session replaces the one used least recently.
pub(crate) const MAX_SESSIONS: u32 = 50;
/// Maximum number of valid API keys of a user (not revoked, not expired).
pub(crate) const MAX_KEYS: i64 = 50;
/// Maximum number of linked identities of a user.
pub(crate) const MAX_IDENTITIES: i64 = 10;
/// Maximum number of invitations that can still be used.
pub(crate) const MAX_INVITATIONS: i64 = 1000;
/// Maximum number of accounts, including deactivated and deleted ones.
pub(crate) const MAX_USERS: i64 = 100_000;
/// Maximum number of groups.
pub const MAX_GROUPS: i64 = 1000;
/// Maximum number of groups that the identity provider can name for one user.
pub(crate) const MAX_GROUPS_OF_USER: usize = 200;
/// Maximum length of the name of a group, in characters.
pub const MAX_GROUP_NAME_CHARS: usize = 200;
/// Maximum number of accounts on a page of the user list.
pub(crate) const USERS_PER_PAGE: u32 = 100;

/// Lifetime of a session after its last use.
pub(crate) const IDLE_LIFETIME: Duration = Duration::days(14);
/// Maximum lifetime of a session, however often it is used.
pub const ABSOLUTE_LIFETIME: Duration = Duration::days(90);
/// Maximum time between the authorization request to an identity provider and the callback.
pub const FLOW_LIFETIME: Duration = Duration::minutes(10);
/// Maximum age of a session at which it still proves ownership of an account that has no password.
pub(crate) const MAX_PROOF_AGE: Duration = Duration::minutes(10);
/// Maximum lifetime of an API key that has an expiration time.
pub(crate) const MAX_KEY_LIFETIME: Duration = Duration::days(3650);
/// Minimum interval between updates of a session's or API key's last-used time. It avoids a write on every request.
pub(crate) const LAST_USED_RESOLUTION: Duration = Duration::minutes(1);
/// Lifetime of the link that creates the first admin.
pub(crate) const SETUP_LIFETIME: Duration = Duration::hours(1);
/// Lifetime of an invitation.
pub(crate) const INVITATION_LIFETIME: Duration = Duration::days(7);
/// Time after its expiration at which a link is deleted from the database.
pub(crate) const LINK_RETENTION: Duration = Duration::days(30);

/// Maximum number of passwords hashed concurrently. Each hash uses 19 MiB of memory and one processor.
pub(crate) const MAX_HASHES_AT_ONCE: usize = 2;
/// Maximum number of passwords that are being hashed or waiting for it.
pub(crate) const MAX_HASHES_WAITING: usize = 64;
/// Timeout for waiting until hashing of a password starts.
pub(crate) const HASH_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

/// Time after a subject's last counted attempt at which its failures are forgotten.
pub(crate) const ATTEMPT_RETENTION: Duration = Duration::hours(24);
/// Maximum number of subjects (such as names and addresses) with a counter of failed attempts. Beyond it, the oldest
/// are deleted.
pub(crate) const MAX_ATTEMPT_COUNTERS: i64 = 100_000;

/// Maximum number of known browsers of a user; a new one replaces the one used least recently.
pub(crate) const MAX_KNOWN_BROWSERS: u32 = 20;
/// Lifetime of a known browser after its last sign-in.
pub const BROWSER_LIFETIME: Duration = Duration::days(180);

/// Minimum interval between audit log rows for the same refused request (per user and request) or failed sign-in (per
/// user and address).
pub(crate) const REFUSAL_LOG_INTERVAL: Duration = Duration::hours(1);
/// Maximum number of audit log rows per [`REFUSAL_LOG_INTERVAL`], separately for failed sign-ins and for refused
/// requests.
pub(crate) const MAX_REFUSALS_LOGGED: i64 = 500;

/// Poll interval for checking whether the callers of open streams still have access.
pub(crate) const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(500);
/// Maximum number of sessions or API keys that one statement checks.
pub(crate) const CALLERS_PER_STATEMENT: usize = 500;
