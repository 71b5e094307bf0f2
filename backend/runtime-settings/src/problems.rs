//! Reasons why a setting, a budget or a group is not valid. The messages are in English; pages in other languages have
//! a sentence of their own for each reason.

use tallybook_protocol::BudgetPeriod;

/// A setting of the server that is not valid or has no effect.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{setting} {problem}")]
pub struct SettingProblem {
    /// Name of the setting.
    pub setting: String,
    /// The reason.
    pub problem: ValueProblem,
}

/// The reason why the value of a setting is not valid or has no effect, as the rest of a sentence about the setting.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ValueProblem {
    /// No setting has this name.
    #[error("is not a setting. The settings are: {0}.")]
    Unknown(String),
    /// The value does not have the type of the setting.
    #[error("is not valid: {0}.")]
    Unreadable(String),
    /// A number is outside its range. `part` is the member of the setting, or empty.
    #[error("must be from {min} to {max}{}.", part_of(.part))]
    Range {
        /// Name of the member, or empty for the whole setting.
        part: &'static str,
        /// The minimum.
        min: u8,
        /// The maximum.
        max: String,
    },
    /// A value is not in a list of values.
    #[error("must be {values}{}.", part_of(.part))]
    Choice {
        /// Name of the member, or empty for the whole setting.
        part: &'static str,
        /// The valid values.
        values: &'static str,
    },
    /// A text has more characters than this.
    #[error("must be at most {0} characters long.")]
    TooLong(usize),
    /// A text has a NUL character.
    #[error("must be without NUL characters.")]
    HasNul,
    /// The number of reviewing models is not from 1 to this.
    #[error("must name 1 to {0} models.")]
    ReviewerCount(usize),
    /// A model does not exist.
    #[error("names the model {model:?}, which does not exist. The models are: {models}.")]
    NoModel {
        /// Name of the model.
        model: String,
        /// Names of the models that exist.
        models: String,
    },
    /// A model cannot review tool calls.
    #[error("names the model {0:?}, which cannot review. Choose another model.")]
    CannotReview(String),
    /// A model cannot write summaries or plans.
    #[error("names the model {0:?}, which cannot write them. Choose another model.")]
    CannotWrite(String),
    /// A reviewing model is named twice.
    #[error("names {0:?} twice. Each model has one vote.")]
    ReviewsTwice(String),
    /// The setting has another value in the settings file or the environment.
    #[error("is set in the settings file or the environment, so the value that was set in the page has no effect.")]
    SetInFile,
    /// A model was removed after it was chosen.
    #[error("names the model {0:?}, which is not available.")]
    ModelGone(String),
}

/// Names the member of a setting at the end of a sentence.
fn part_of(part: &str) -> String {
    if part.is_empty() { String::new() } else { format!(" for {part}") }
}

/// The reason why budgets are not valid.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BudgetProblem {
    /// There are more budgets than this.
    #[error("There can be at most {0} budgets.")]
    TooMany(usize),
    /// The principal cannot be read.
    #[error("The principal {0:?} is not valid. It must be all, or user: or group: and an ID.")]
    Principal(String),
    /// A principal has two budgets for the same period.
    #[error("{0} has two budgets for one {period}. Combine them.", period = .1.as_str())]
    Twice(String, BudgetPeriod),
    /// A budget has no limit.
    #[error("The budget of {0} limits nothing. Set tokens, cost_nanos or both.")]
    Empty(String),
    /// A limit is below 1.
    #[error("The budget of {0} must be at least 1.")]
    BelowOne(String),
    /// The share for the warning is outside its range.
    #[error("warn_at must be from 0 to 1.")]
    WarnAt,
    /// The principal's user does not exist.
    #[error("There is no user with the ID in {0}.")]
    NoUser(String),
    /// The principal's group does not exist.
    #[error("There is no group with the ID in {0}.")]
    NoGroup(String),
    /// A field of the form cannot be read. The sentence is in the language of the form.
    #[error("{0}")]
    Field(String),
}

/// The reason why a group is not valid.
#[derive(Clone, Debug, thiserror::Error)]
pub enum GroupProblem {
    /// There are this many groups already.
    #[error("There can be at most {0} groups. Delete one first.")]
    TooMany(i64),
    /// The name of a group from the identity provider cannot be changed.
    #[error("The identity provider sets the name of this group.")]
    NameFromProvider,
    /// The name is empty, has several lines or more characters than this.
    #[error("The name of a group has 1 to {0} characters, in one line.")]
    Name(usize),
    /// A group has more grants than this.
    #[error("A group can have at most {0} grants.")]
    TooManyGrants(usize),
    /// A grant cannot be read.
    #[error("The grant {0:?} is not valid. A grant is model:NAME, tool_server:NAME, make_keys, upload or share.")]
    Grant(String),
    /// A granted model does not exist.
    #[error("There is no model {model:?}. The models are: {models}.")]
    NoModel {
        /// Name of the model.
        model: String,
        /// Names of the models that exist.
        models: String,
    },
    /// A granted tool server does not exist.
    #[error("There is no tool server {server:?}. The tool servers are: {servers}.")]
    NoToolServer {
        /// Name of the tool server.
        server: String,
        /// Names of the tool servers that exist.
        servers: String,
    },
    /// A group has more members than this.
    #[error("A group can have at most {0} members.")]
    TooManyMembers(u32),
    /// No user has this ID.
    #[error("There is no user with the ID {0}.")]
    NoUser(i64),
    /// No user has this name.
    #[error("There is no user with the name {0:?}.")]
    NoUserNamed(String),
}
