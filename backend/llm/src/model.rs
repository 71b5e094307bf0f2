//! The interface of every model behind a provider's API.

use futures_util::stream::BoxStream;
use tallybook_protocol::{ModelInfo, ToolOffer};

use super::{
    error::ModelError,
    event::ModelEvent,
    quirks::{Quirk, QuirkSet},
    request::ModelRequest,
};

/// A model behind some provider's API.
pub trait ModelClient: Send + Sync + 'static {
    /// Returns the provider and the model, for display and for the `model_calls` table.
    fn info(&self) -> &ModelInfo;

    /// Returns the parts of a request that the model's server cannot accept, as known from the settings and from its
    /// refusals so far.
    fn quirks(&self) -> QuirkSet {
        QuirkSet::default()
    }

    /// Returns how tools are currently presented to the model.
    fn tool_offer(&self) -> ToolOffer {
        if self.quirks().has(Quirk::NoTools) { ToolOffer::Prompt } else { ToolOffer::Native }
    }

    /// Sends a request and streams the answer. A complete answer ends with exactly one [`ModelEvent::Ended`]. An answer
    /// is incomplete if its stream ends with an error or without `Ended`. Dropping the stream closes the connection.
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// The stream that [`ModelClient::stream`] returns.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;
