//! The setup of a model or tool server by an admin: connection, choice of the model, test, and storage. [`Setup::take`]
//! makes all decisions without a browser, so it is tested natively. `form` has the texts of the fields, `shell` carries
//! out effects, and `components::setup_dialog` renders it.

mod entry;
mod fields;
mod form;
mod model;
mod opened;
mod shell;
mod tool_server;

use serde_json::{Map, Value};
use tallybook_protocol::{DiscoverModels, DiscoveredModel, DiscoveredModels};

pub(crate) use self::{
    entry::{EntryKind, SetupEntry, TestResult},
    fields::{Fault, Field},
    form::Form,
    model::{Provider, REMOVE},
    opened::{Connecting, OpenedEntry},
    shell::{Dialog, OUTCOME_ID, PROBLEM_ID},
    tool_server::{HEADER, KEEP, TOKEN},
};
use crate::api::ApiError;

/// The state of the dialog.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    kind: EntryKind,
    /// The stored entry that is being edited; `None` for a new one.
    stored: Option<SetupEntry>,
    form: Form,
    /// The models that the provider of a model offers; `None` until it was asked.
    offered: Option<Vec<DiscoveredModel>>,
    /// The models of Ollama on the server's machine; empty if it was not found.
    local: Vec<DiscoveredModel>,
    work: Option<Work>,
    problem: Option<Problem>,
    test: Option<TestResult>,
    /// Number of the last request. Responses to earlier requests are ignored.
    ticket: u32,
}

/// The request that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The provider is asked for its models.
    Finding,
    /// A provider on the server's machine is asked for its models, although the user did not ask. Other requests
    /// replace this one, and its failure is not shown.
    Detecting,
    /// The entry is tested.
    Testing,
    /// The entry is being stored.
    Saving,
    /// The stored entry is being loaded again, because another admin changed it.
    Loading,
}

/// A reason why the last action failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The field with the problem; `None` if the problem concerns no single field.
    pub(crate) field: Option<Field>,
    pub(crate) reason: Reason,
}

/// The kind of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The text of a field cannot be used.
    Field(Fault),
    /// A request failed.
    Request(ApiError),
    /// Another admin changed the entry. The dialog has the new settings, and keeps what the user changed.
    Changed,
}

/// An event that the dialog reacts to.
#[derive(Debug)]
pub(crate) enum SetupInput {
    /// The dialog has opened.
    Open,
    /// Ollama on the server's machine was asked for its models.
    FoundLocal(Vec<DiscoveredModel>),
    /// Chooses the provider.
    Choose(Provider),
    /// Sets the text of a field.
    Write(Field, String),
    /// Chooses one of the provider's models.
    Pick(String),
    /// Asks the provider for its models.
    Find,
    Test,
    Save,
    /// Cancels the request that is under way.
    Cancel,
    Found(u32, Result<DiscoveredModels, ApiError>),
    Tested(u32, Result<TestResult, ApiError>),
    Saved(u32, Result<SetupEntry, ApiError>),
    Loaded(u32, Result<SetupEntry, ApiError>),
}

/// An action outside the state. A request replaces the previous one.
#[derive(PartialEq)]
pub(crate) enum SetupEffect {
    /// Looks for a provider on the server's machine. Other requests do not replace this one.
    FindLocal(DiscoverModels),
    Find(u32, DiscoverModels),
    /// Tests these settings.
    Test(u32, Map<String, Value>),
    /// Tests the stored entry with this name, with changes that are not stored.
    TestStored(u32, String, Map<String, Value>),
    /// Stores these settings.
    Add(u32, Map<String, Value>),
    /// Changes the stored entry with this name and version.
    Update(u32, String, Option<i64>, Map<String, Value>),
    Load(u32, String),
    /// Aborts the request.
    Abort,
    /// Moves the focus to a field, or to the message above all fields.
    Focus(Option<Field>),
    /// Scrolls to the result of the test.
    ShowTest,
    /// The entry with this name is stored: closes the dialog and updates the page.
    Done(String),
}

impl Setup {
    /// Creates the state for a new entry, or for a stored one.
    pub(crate) fn new(kind: EntryKind, stored: Option<SetupEntry>) -> Self {
        let form = stored.as_ref().map_or_else(|| Form::new(kind), Form::of);
        Self { kind, stored, form, offered: None, local: Vec::new(), work: None, problem: None, test: None, ticket: 0 }
    }

    /// Returns the kind of the entry.
    pub(crate) fn kind(&self) -> EntryKind {
        self.kind
    }

    /// Returns the entry that is being edited.
    pub(crate) fn stored(&self) -> Option<&SetupEntry> {
        self.stored.as_ref()
    }

    /// Returns the fields.
    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    /// Returns the models that the provider offers; `None` until it was asked.
    pub(crate) fn offered(&self) -> Option<&[DiscoveredModel]> {
        self.offered.as_deref()
    }

    /// Returns `true` if the provider was found on the server's machine.
    pub(crate) fn is_found(&self, provider: Provider) -> bool {
        provider.is_local() && !self.local.is_empty()
    }

    /// Returns the request of the user that is under way.
    pub(crate) fn work(&self) -> Option<Work> {
        self.work.filter(|work| *work != Work::Detecting)
    }

    /// Returns the reason why the last action failed.
    pub(crate) fn problem(&self) -> Option<&Problem> {
        self.problem.as_ref()
    }

    /// Returns the result of the last test, unless the settings have changed since.
    pub(crate) fn test(&self) -> Option<&TestResult> {
        self.test.as_ref()
    }

    /// Applies an input to the state, and returns the effects to carry out.
    pub(crate) fn take(&mut self, input: SetupInput) -> Vec<SetupEffect> {
        match input {
            SetupInput::Open => {
                let is_new_model = self.kind == EntryKind::Model && self.stored.is_none();
                is_new_model.then(|| SetupEffect::FindLocal(model::local_discovery())).into_iter().collect()
            }
            SetupInput::FoundLocal(models) => {
                self.local = models;
                Vec::new()
            }
            SetupInput::Choose(provider) => {
                let is_new = self.form.provider() != Some(provider);
                self.form.choose(provider);
                self.problem = None;
                let mut effects = self.forget_answers(true);
                if is_new && provider.is_local() {
                    effects.extend(self.detect());
                }
                effects
            }
            SetupInput::Write(field, text) => {
                self.form.write(field, text);
                self.take_back_problem(field);
                match field {
                    Field::Name => Vec::new(),
                    Field::Address | Field::Secret | Field::StoredKey => self.forget_answers(true),
                    _ => self.forget_answers(false),
                }
            }
            SetupInput::Pick(model) => {
                let known = self.offered.iter().flatten().find(|known| known.model == model).cloned();
                self.form.pick(&known.unwrap_or(DiscoveredModel { model, ..DiscoveredModel::default() }));
                self.take_back_problem(Field::Model);
                self.forget_answers(false)
            }
            SetupInput::Find => self.find(),
            SetupInput::Test => self.ask(Work::Testing),
            SetupInput::Save => self.ask(Work::Saving),
            SetupInput::Cancel => self.cancel(),
            SetupInput::Found(ticket, found) if self.awaits(ticket, Work::Finding) => self.found(found),
            SetupInput::Found(ticket, found) if self.awaits(ticket, Work::Detecting) => {
                (self.work, self.offered) = (None, found.ok().map(|found| found.items));
                Vec::new()
            }
            SetupInput::Tested(ticket, tested) if self.awaits(ticket, Work::Testing) => {
                self.work = None;
                match tested {
                    Ok(test) => {
                        if let TestResult::Model(test) = &test {
                            self.form.learn(test);
                        }
                        self.test = Some(test);
                        vec![SetupEffect::ShowTest]
                    }
                    Err(error) => self.refuse(error),
                }
            }
            SetupInput::Saved(ticket, saved) if self.awaits(ticket, Work::Saving) => self.saved(saved),
            SetupInput::Loaded(ticket, loaded) if self.awaits(ticket, Work::Loading) => {
                self.work = None;
                match loaded {
                    Ok(stored) => {
                        self.form.rebase(&stored);
                        self.stored = Some(stored);
                        self.fail(None, Reason::Changed)
                    }
                    Err(error) => self.fail(None, Reason::Request(error)),
                }
            }
            // The dialog no longer waits for these.
            SetupInput::Found(..) | SetupInput::Tested(..) | SetupInput::Saved(..) | SetupInput::Loaded(..) => {
                Vec::new()
            }
        }
    }

    fn awaits(&self, ticket: u32, work: Work) -> bool {
        ticket == self.ticket && self.work == Some(work)
    }

    /// Starts a request.
    fn begin(&mut self, work: Work) -> u32 {
        self.ticket = self.ticket.wrapping_add(1);
        (self.work, self.problem) = (Some(work), None);
        self.ticket
    }

    fn cancel(&mut self) -> Vec<SetupEffect> {
        if self.work.take().is_none() {
            return Vec::new();
        }
        self.ticket = self.ticket.wrapping_add(1);
        vec![SetupEffect::Abort]
    }

    fn fail(&mut self, field: Option<Field>, reason: Reason) -> Vec<SetupEffect> {
        self.problem = Some(Problem { field, reason });
        vec![SetupEffect::Focus(field)]
    }

    /// Discards the result of a test, and with `offer` also the provider's models. Cancels the request for them.
    fn forget_answers(&mut self, offer: bool) -> Vec<SetupEffect> {
        self.test = None;
        if offer {
            self.offered = None;
        }
        let is_outdated = match self.work {
            Some(Work::Testing) => true,
            Some(Work::Finding | Work::Detecting) => offer,
            Some(Work::Saving | Work::Loading) | None => false,
        };
        if is_outdated { self.cancel() } else { Vec::new() }
    }

    fn take_back_problem(&mut self, field: Field) {
        self.problem.take_if(|problem| problem.field == Some(field));
    }

    /// Asks the chosen provider for its models, if nothing prevents it.
    fn detect(&mut self) -> Option<SetupEffect> {
        if self.work.is_some() || self.form.keeps_secret() {
            return None;
        }
        let provider = self.form.discovery().ok()?;
        Some(SetupEffect::Find(self.begin(Work::Detecting), provider))
    }

    fn find(&mut self) -> Vec<SetupEffect> {
        if self.work().is_some() {
            return Vec::new();
        }
        let mut provider = match self.form.discovery() {
            Ok(provider) => provider,
            Err((field, fault)) => return self.fail(Some(field), Reason::Field(fault)),
        };
        if let Some(stored) = self.stored.as_ref().filter(|_| self.form.keeps_secret()) {
            let address = (stored.setting("provider"), stored.setting("base_url"));
            // The server sends a stored key only to the address of its model.
            if address != (Some(&*provider.provider), provider.base_url.as_deref()) {
                return self.ask_for_secret();
            }
            provider.name = Some(stored.name.clone());
        }
        self.offered = None;
        vec![SetupEffect::Find(self.begin(Work::Finding), provider)]
    }

    fn found(&mut self, found: Result<DiscoveredModels, ApiError>) -> Vec<SetupEffect> {
        self.work = None;
        match found {
            Ok(found) => {
                self.offered = Some(found.items);
                vec![SetupEffect::Focus(Some(Field::Model))]
            }
            Err(error) => match &error {
                ApiError::Refused { code, detail, .. } if code == "model-unreachable" => {
                    let field = self.form.suspect(detail);
                    self.fail(Some(field), Reason::Request(error))
                }
                _ => self.refuse(error),
            },
        }
    }

    fn ask_for_secret(&mut self) -> Vec<SetupEffect> {
        self.fail(Some(self.form.secret_field()), Reason::Field(Fault::SecretAgain))
    }

    /// Tests or stores the entry.
    fn ask(&mut self, work: Work) -> Vec<SetupEffect> {
        if self.work().is_some() {
            return Vec::new();
        }
        let before = self.stored.as_ref().map(|stored| stored.settings.clone()).unwrap_or_default();
        let checked = self.form.settings(before.clone()).and_then(|settings| Ok((settings, self.form.secret()?)));
        let (settings, secret) = match checked {
            Ok(checked) => checked,
            Err((field, fault)) => return self.fail(Some(field), Reason::Field(fault)),
        };
        let secret = secret.map(|secret| (self.kind.secret().to_owned(), secret));
        let changes: Map<String, Value> = changes(&before, &settings).chain(secret.clone()).collect();
        if work == Work::Testing {
            self.test = None;
        }
        let is_elsewhere = self.kind.address().iter().any(|setting| changes.contains_key(*setting));
        match (work, &self.stored) {
            // The server sends a stored secret only to the address of its entry.
            (_, Some(_)) if is_elsewhere && self.form.keeps_secret() => self.ask_for_secret(),
            (Work::Testing, Some(stored)) => {
                let name = stored.name.clone();
                vec![SetupEffect::TestStored(self.begin(work), name, changes)]
            }
            (Work::Testing, None) => {
                vec![SetupEffect::Test(self.begin(work), settings.into_iter().chain(secret).collect())]
            }
            (_, None) => vec![SetupEffect::Add(self.begin(work), settings.into_iter().chain(secret).collect())],
            (_, Some(stored)) if changes.is_empty() => vec![SetupEffect::Done(stored.name.clone())],
            (_, Some(stored)) => {
                let (name, version) = (stored.name.clone(), stored.version);
                vec![SetupEffect::Update(self.begin(work), name, version, changes)]
            }
        }
    }

    fn saved(&mut self, saved: Result<SetupEntry, ApiError>) -> Vec<SetupEffect> {
        let error = match saved {
            // The work lasts until the dialog has closed.
            Ok(stored) => return vec![SetupEffect::Done(stored.name)],
            Err(error) => error,
        };
        self.work = None;
        match (&error, &self.stored) {
            (error, Some(stored)) if error.is_outdated() => {
                let name = stored.name.clone();
                vec![SetupEffect::Load(self.begin(Work::Loading), name)]
            }
            // Another entry has the name, one that was added or one of the settings file.
            (ApiError::Refused { code, .. }, None) if matches!(code.as_str(), "name-taken" | "set-in-file") => {
                self.fail(Some(Field::Name), Reason::Request(error))
            }
            _ => self.refuse(error),
        }
    }

    /// Reports a refusal at the field that it is about.
    fn refuse(&mut self, error: ApiError) -> Vec<SetupEffect> {
        let field = match &error {
            ApiError::Refused { code, detail, .. } if code == self.kind.invalid() => self.form.field_in(detail),
            _ => None,
        };
        let is_new = self.stored.is_none();
        let field = field.filter(|field| self.form.has(*field) && (is_new || *field != Field::Name));
        self.fail(field, Reason::Request(error))
    }
}

/// Returns the members of a PATCH request: each setting that differs, with `null` for one that is removed.
fn changes(before: &Map<String, Value>, after: &Map<String, Value>) -> impl Iterator<Item = (String, Value)> {
    let removed = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name.clone(), Value::Null));
    let changed = after.iter().filter(|(name, value)| before.get(*name) != Some(*value));
    removed.chain(changed.map(|(name, value)| (name.clone(), value.clone())))
}

#[cfg(test)]
mod tests;
