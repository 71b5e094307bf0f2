//! How much of accounts there may be, and how long things last.

use chrono::Duration;

/// The shortest password, in characters.
pub(super) const MIN_PASSWORD_CHARS: usize = 12;
/// The longest password, in bytes.
pub(super) const MAX_PASSWORD_BYTES: usize = 1024;
/// The longest name of a person or a key, in characters.
pub(super) const MAX_NAME_CHARS: usize = 64;
/// Characters that are kept of what a browser calls itself.
pub(super) const MAX_USER_AGENT_CHARS: usize = 200;

/// Sessions of one person; the one that was not heard of for longest gives way to a new one.
pub(super) const MAX_SESSIONS: u32 = 50;
/// Keys of one person that are not revoked.
pub(super) const MAX_KEYS: i64 = 50;
/// Identities of one person.
pub(super) const MAX_IDENTITIES: i64 = 10;
/// Invitations that can still be used.
pub(super) const MAX_INVITATIONS: i64 = 1000;
/// Accounts there may be.
pub(super) const MAX_USERS: i64 = 100_000;
/// Accounts that a page of their list has.
pub(super) const USERS_AT_ONCE: u32 = 100;

/// How long a session lasts that is not heard of.
pub(super) const IDLE_LIFETIME: Duration = Duration::days(14);
/// How long a session lasts at most.
pub(crate) const ABSOLUTE_LIFETIME: Duration = Duration::days(90);
/// Age of a session up to which it proves that a user without a password is the one who signed in.
pub(super) const FRESH_FOR: Duration = Duration::minutes(10);
/// The longest lifetime of a key that expires.
pub(super) const MAX_KEY_LIFETIME: Duration = Duration::days(3650);
/// How exactly is known when a session or a key was last used, which spares a write each time.
pub(super) const SEEN_EXACTNESS: Duration = Duration::minutes(1);
/// How long the link that makes the first admin can be used.
pub(super) const SETUP_LIFETIME: Duration = Duration::hours(1);
/// How long an invitation can be used.
pub(super) const INVITATION_LIFETIME: Duration = Duration::days(7);
/// How long links that are over are kept, so that whoever comes with one late is told what it was.
pub(super) const LINK_RETENTION: Duration = Duration::days(30);

/// Passwords that are hashed at once; each takes 19 MiB and a processor.
pub(super) const MAX_HASHES_AT_ONCE: usize = 2;
/// Passwords that wait to be hashed.
pub(super) const MAX_HASHES_WAITING: usize = 64;
/// How long one waits for that.
pub(super) const HASH_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// How long failed attempts are remembered.
pub(super) const ATTEMPTS_REMEMBERED: Duration = Duration::hours(24);
/// Names and addresses whose failed attempts are remembered; the oldest are forgotten first.
pub(super) const MAX_ATTEMPTS_REMEMBERED: i64 = 100_000;

/// Maximum number of known browsers of a user; a new one replaces the one used least recently.
pub(super) const MAX_KNOWN_BROWSERS: u32 = 20;
/// Lifetime of a known browser after its last sign-in.
pub(crate) const BROWSER_LIFETIME: Duration = Duration::days(180);

/// Interval in which a refused request or a failed sign-in is noted once, for each user and address.
pub(super) const REFUSALS_NOTED_EVERY: Duration = Duration::hours(1);
/// Rows of failed sign-ins, and of refused requests, that the audit log takes in that interval.
pub(super) const MAX_REFUSALS_NOTED: i64 = 500;

/// How often is looked whether those who read open streams may still read them.
pub(super) const WATCH_EVERY: std::time::Duration = std::time::Duration::from_millis(500);
/// Sessions or keys that one statement asks for.
pub(super) const WATCHED_AT_ONCE: usize = 500;
