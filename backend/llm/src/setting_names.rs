//! The names of the settings that error messages about a model mention.

/// The names of settings that error messages mention. A model of the environment and one of the settings file are set
/// by different ones.
#[derive(Clone, Debug)]
pub struct SettingNames {
    /// The variable that holds the key.
    pub api_key: String,
    /// The setting for the provider's name of the model.
    pub model: String,
    /// The setting for the provider's address.
    pub base_url: String,
}

impl Default for SettingNames {
    /// The names for the model of the environment.
    fn default() -> Self {
        Self { api_key: "LLM_API_KEY".to_owned(), model: "LLM_MODEL".to_owned(), base_url: "LLM_BASE_URL".to_owned() }
    }
}
