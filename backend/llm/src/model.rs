//! The port itself: what every model behind a provider's API can do.

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
    /// Which provider and model this is, for people and for the `model_calls` table.
    fn info(&self) -> &ModelInfo;

    /// Returns the parts of a request that its server cannot take, by the settings and by its refusals so far.
    fn quirks(&self) -> QuirkSet {
        QuirkSet::default()
    }

    /// Returns how tools are presented to it at present.
    fn tool_offer(&self) -> ToolOffer {
        if self.quirks().has(Quirk::NoTools) { ToolOffer::Prompt } else { ToolOffer::Native }
    }

    /// Asks the model and streams what it writes. A stream that ends well ends in exactly one [`ModelEvent::Ended`];
    /// one that ends in an error, or without `Ended`, is not a finished answer. Dropping it closes the connection.
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// What [`ModelClient::stream`] gives.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;
