//! The names of the settings that error messages about a model mention.

/// The names of settings that error messages mention. They differ between a model from the environment and a model from
/// the settings file.
#[derive(Clone, Debug)]
pub struct SettingNames {
    /// The environment variable that holds the API key.
    pub api_key: String,
    /// The setting for the provider's name of the model.
    pub model: String,
    /// The setting for the provider's address.
    pub base_url: String,
}

impl Default for SettingNames {
    /// Returns the names for the model from the environment.
    fn default() -> Self {
        Self { api_key: "LLM_API_KEY".to_owned(), model: "LLM_MODEL".to_owned(), base_url: "LLM_BASE_URL".to_owned() }
    }
}
