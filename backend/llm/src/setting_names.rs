//! The names of the settings that error messages about a model mention.

/// The names of settings that error messages mention. They differ between models from the environment, from the
/// settings file, and from the page.
#[derive(Clone, Debug)]
pub struct SettingNames {
    /// The environment variable that holds the API key.
    pub api_key: String,
    /// The setting for the provider's name of the model.
    pub model: String,
    /// The setting for the provider's address.
    pub base_url: String,
    /// `true` if changes of the settings take effect only at a restart.
    pub need_restart: bool,
}

impl Default for SettingNames {
    /// Returns the names for the model from the environment.
    fn default() -> Self {
        Self {
            api_key: "LLM_API_KEY".to_owned(),
            model: "LLM_MODEL".to_owned(),
            base_url: "LLM_BASE_URL".to_owned(),
            need_restart: true,
        }
    }
}

impl SettingNames {
    /// Returns the names for a model that an admin added in the page.
    pub fn in_page() -> Self {
        Self {
            api_key: "the model's API key in the settings".to_owned(),
            model: "the provider's name of the model".to_owned(),
            base_url: "the URL in the model's settings".to_owned(),
            need_restart: false,
        }
    }

    /// Returns what to do about a rejected key, as the rest of a sentence that begins with "Check".
    pub(crate) fn key_advice(&self) -> String {
        if self.need_restart { format!("{} and restart the server", self.api_key) } else { self.api_key.clone() }
    }
}
