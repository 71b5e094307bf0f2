//! The form of an entry: the texts of its fields, and the settings that they stand for.

use serde_json::{Map, Value};
use tallybook_protocol::{DiscoverModels, DiscoveredModel, ModelTest};

use super::{
    entry::{EntryKind, SetupEntry, fields},
    fields::{Field, FieldFault, Texts},
    model::{self, ModelConnection, Provider},
    tool_server,
};

/// The form of an entry.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    kind: EntryKind,
    texts: Texts,
    /// The provider of a model.
    connection: ModelConnection,
    /// `true` if the stored entry has a secret.
    has_stored_secret: bool,
}

impl Form {
    /// Creates the form of a new entry.
    pub(super) fn new(kind: EntryKind) -> Self {
        Self { kind, texts: Texts::default(), connection: ModelConnection::default(), has_stored_secret: false }
    }

    /// Creates the form of a stored entry.
    pub(super) fn of(entry: &SetupEntry) -> Self {
        let mut form = Self::new(entry.kind);
        if entry.kind == EntryKind::Model {
            form.connection = ModelConnection::of(&fields(entry.settings.clone()));
        }
        // The name of a stored entry cannot change.
        form.texts.write(Field::Name, entry.name.clone());
        form.rebase(entry);
        form
    }

    /// Sets all fields to the settings of the entry, without those that the user changed.
    pub(super) fn rebase(&mut self, entry: &SetupEntry) {
        self.has_stored_secret = entry.has_secret;
        let settings = entry.settings.clone();
        let texts = match self.kind {
            EntryKind::Model => {
                let settings = fields(settings);
                self.connection.rebase(&settings);
                model::texts(&settings)
            }
            EntryKind::ToolServer => tool_server::texts(&fields(settings), entry.has_secret),
        };
        for (field, text) in texts {
            self.texts.prefill(field, text);
        }
    }

    /// Returns the text of a field.
    pub(crate) fn text(&self, field: Field) -> &str {
        self.texts.get(field)
    }

    /// Returns the provider of a model.
    pub(crate) fn provider(&self) -> Option<Provider> {
        self.connection.provider
    }

    /// Returns `true` if the address of a model can be changed.
    pub(crate) fn has_address(&self) -> bool {
        self.connection.has_address()
    }

    /// Returns `true` if the address of a tool server is sent unencrypted through the network, so that the user must
    /// allow it.
    pub(crate) fn is_plain_http(&self) -> bool {
        tool_server::is_plain_http(&self.texts)
    }

    /// Returns `true` if the dialog has this field.
    pub(super) fn has(&self, field: Field) -> bool {
        let authentication = self.text(Field::Authentication);
        match (self.kind, field) {
            (EntryKind::Model, Field::Address) => self.has_address(),
            (EntryKind::Model, Field::Secret) => self.connection.takes_key(),
            (EntryKind::ToolServer, Field::Secret | Field::MoreHeaders) => {
                [tool_server::TOKEN, tool_server::HEADER].contains(&authentication)
            }
            (EntryKind::ToolServer, Field::Header) => authentication == tool_server::HEADER,
            _ => true,
        }
    }

    pub(super) fn write(&mut self, field: Field, text: String) {
        if matches!(field, Field::Address | Field::Model) {
            self.texts.unlearn();
        }
        if field == Field::Model {
            self.texts.prefill(Field::Name, Some(model::name_of(&text)));
        }
        self.texts.write(field, text);
    }

    /// Fills the fields with what a test of a model has shown.
    pub(super) fn learn(&mut self, test: &ModelTest) {
        model::learn(test, &mut self.texts);
    }

    /// Chooses the provider of a model.
    pub(super) fn choose(&mut self, provider: Provider) {
        self.texts.unlearn();
        self.connection.choose(provider, &mut self.texts);
    }

    /// Chooses a model, and fills the fields with what its provider says.
    pub(super) fn pick(&mut self, model: &DiscoveredModel) {
        self.texts.unlearn();
        model::pick(model, &mut self.texts);
    }

    /// Returns the request for the models of the provider, or the field with a fault.
    pub(super) fn discovery(&self) -> Result<DiscoverModels, FieldFault> {
        self.connection.check(&self.texts, self.keeps_secret())?;
        Ok(self.connection.discovery(&self.texts))
    }

    /// Returns the field that is most likely wrong if a request to the provider of a model fails for this reason.
    pub(super) fn suspect(&self, reason: &str) -> Field {
        self.connection.suspect(reason)
    }

    /// Returns `true` if a stored secret stays in use, because the user neither entered another one nor removed it.
    pub(super) fn keeps_secret(&self) -> bool {
        self.has_stored_secret
            && match self.kind {
                EntryKind::Model => self.texts.trimmed(Field::Secret).is_none() && !self.removes_key(),
                EntryKind::ToolServer => self.text(Field::Authentication) == tool_server::KEEP,
            }
    }

    /// Returns `true` if the user removes the stored key of a model.
    fn removes_key(&self) -> bool {
        self.has_stored_secret && self.text(Field::StoredKey) == model::REMOVE
    }

    /// Returns the field in which the user enters the stored secret again.
    pub(super) fn secret_field(&self) -> Field {
        match self.kind {
            EntryKind::Model => Field::Secret,
            EntryKind::ToolServer => Field::Authentication,
        }
    }

    /// Returns the value of the secret setting, or the field with a fault. `None` leaves the secret as it is, and null
    /// removes it.
    pub(super) fn secret(&self) -> Result<Option<Value>, FieldFault> {
        match self.kind {
            EntryKind::Model => {
                let key = self.connection.key(&self.texts).map(Value::String);
                Ok(key.or_else(|| self.removes_key().then_some(Value::Null)))
            }
            EntryKind::ToolServer => tool_server::headers(&self.texts, self.has_stored_secret),
        }
    }

    /// Returns the settings, or the first field with a fault. Settings without a field are those of `base`.
    pub(super) fn settings(&self, base: Map<String, Value>) -> Result<Map<String, Value>, FieldFault> {
        match self.kind {
            EntryKind::Model => self.connection.settings(&self.texts, fields(base), self.keeps_secret()),
            EntryKind::ToolServer => tool_server::settings(&self.texts, fields(base)),
        }
    }

    /// Returns the field that the server's sentence about a setting concerns.
    pub(super) fn field_in(&self, sentence: &str) -> Option<Field> {
        match self.kind {
            EntryKind::Model => model::field_in(sentence),
            EntryKind::ToolServer => tool_server::field_in(sentence),
        }
    }
}
