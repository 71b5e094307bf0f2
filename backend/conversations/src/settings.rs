//! The operator's settings for conversations, and those of them that admins can change while the server runs: among
//! others conversation summaries (`[memory]`: when a conversation is summarized, and by which model) and plan mode
//! (`[plan]`). `turn::context::summary` writes the summaries; the agent executes the plans.

use std::{fmt, sync::Arc, time::Duration};

use parking_lot::RwLock;
use tallybook_accounts::Permissions;
use tallybook_agent::{Planning, Reviewers};

use crate::{
    budget::Budget,
    models::{Catalog, Model, Window},
    user_limits::UserLimits,
};

/// The operator's settings for conversations.
#[derive(Clone, Debug)]
pub struct ConversationSettings {
    /// Lease duration. If an owner does not renew a lease in time, its turn counts as abandoned.
    pub lease: Duration,
    /// Retention of the events of finished turns; forever if `None`.
    pub journal_retention: Option<Duration>,
    /// The settings that can change while the server runs.
    pub changeable: CurrentSettings,
    /// The permissions of users.
    pub permissions: Permissions,
}

/// Settings that can change while the server runs. A turn keeps those that it started with.
#[derive(Clone, Debug, Default)]
pub struct ChangeableSettings {
    /// Limits of each user.
    pub user_limits: UserLimits,
    /// The budgets, which limit users beside their limits.
    pub budgets: Vec<Budget>,
    /// Settings of conversation summaries.
    pub memory: MemorySettings,
    /// Settings of plan mode.
    pub plan: PlanSettings,
    /// `true` if models write the titles of conversations.
    pub titles: bool,
    /// The models that review high-risk calls, if any do.
    pub reviewers: Option<Arc<Reviewers>>,
    /// Instructions for every turn of every user; empty if there are none.
    pub instructions: String,
    /// Time after which a call that waits for approval is denied; never if `None`.
    pub approval_timeout: Option<Duration>,
    /// Retention of deleted conversations.
    pub deleted_retention: Duration,
}

/// The current values of the settings that can change. Cheap to clone; all clones share the values.
#[derive(Clone, Debug)]
pub struct CurrentSettings(Arc<RwLock<Arc<ChangeableSettings>>>);

impl CurrentSettings {
    /// Creates the settings with these values.
    pub fn new(settings: ChangeableSettings) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(settings))))
    }

    /// Returns the values of this moment.
    pub fn get(&self) -> Arc<ChangeableSettings> {
        Arc::clone(&self.0.read())
    }

    /// Replaces the values. Running turns keep theirs.
    pub fn set(&self, settings: ChangeableSettings) {
        *self.0.write() = Arc::new(settings);
    }
}

/// Settings of conversation summaries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySettings {
    /// Catalog name of the model that writes summaries; it must be able to. `None` means the model that answered.
    pub summary_model: Option<String>,
    /// Number of tokens outside the summary above which a new summary is written; `None` means a share of the model's
    /// context window.
    pub after_tokens: Option<usize>,
    /// Maximum length of a summary, in characters; 0 disables summaries.
    pub max_chars: usize,
}

/// Default length of a summary, in characters.
const DEFAULT_CHARS: usize = 300;

/// Default share of the context window that a conversation may take up before it is summarized, in percent.
const DEFAULT_SHARE: usize = 70;

impl Default for MemorySettings {
    fn default() -> Self {
        Self { summary_model: None, after_tokens: None, max_chars: DEFAULT_CHARS }
    }
}

impl MemorySettings {
    /// Maximum of `after_tokens`. No model has a larger context.
    pub const MAX_AFTER_TOKENS: usize = 10_000_000;

    /// Maximum of `max_chars`: the length of a summary that a model may write.
    pub const MAX_CHARS: usize = 2000;

    /// Settings without summaries.
    pub const OFF: Self = Self { summary_model: None, after_tokens: None, max_chars: 0 };

    /// Returns the number of tokens that may be outside the summary with this model.
    pub(crate) fn after_tokens(&self, window: Window) -> usize {
        self.after_tokens.unwrap_or(window.context / 100 * DEFAULT_SHARE)
    }
}

impl fmt::Display for MemorySettings {
    /// Describes the settings in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.max_chars == 0 {
            return f.write_str("conversations are not summarized");
        }
        let model = self.summary_model.as_deref().unwrap_or("the model that answered");
        match self.after_tokens {
            Some(0) => write!(f, "{model} summarizes after every answer")?,
            Some(tokens) => write!(f, "{model} summarizes conversations longer than {tokens} tokens")?,
            None => write!(
                f,
                "{model} summarizes conversations longer than {DEFAULT_SHARE} % of the model's context window"
            )?,
        }
        write!(f, ", in {} characters", self.max_chars)
    }
}

/// Settings of plan mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanSettings {
    /// Catalog name of the model that makes plans; `None` means the model that answers.
    pub planner_model: Option<String>,
    /// Maximum number of attempts at one step.
    pub max_attempts: u32,
    /// Maximum number of attempts at all steps of a plan together.
    pub max_total_attempts: u32,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self { planner_model: None, max_attempts: 2, max_total_attempts: 10 }
    }
}

impl PlanSettings {
    /// Maximum of `max_attempts`. Each attempt costs as many model calls as an answer.
    pub const MAX_ATTEMPTS: u32 = 10;

    /// Maximum of `max_total_attempts`.
    pub const MAX_TOTAL_ATTEMPTS: u32 = 50;

    /// Returns the settings for a turn that `model` answers, or `None` if the planner cannot make plans.
    pub(crate) fn planning(&self, models: &Catalog, model: &Arc<Model>) -> Option<Planning> {
        let planner = self.planner_model.as_deref().and_then(|name| models.find(name));
        let planner = planner.unwrap_or_else(|| Arc::clone(model));
        let Self { max_attempts, max_total_attempts, .. } = *self;
        let planning = || Planning { planner: planner.shared_client(), max_attempts, max_total_attempts };
        planner.can_summarize().then(planning)
    }
}

impl fmt::Display for PlanSettings {
    /// Describes the settings in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { planner_model, max_attempts, max_total_attempts } = self;
        let planner = planner_model.as_deref().unwrap_or("the model that answers");
        write!(
            f,
            "{planner} makes plans, a step of which is tried {max_attempts} times, all of them {max_total_attempts} times"
        )
    }
}
