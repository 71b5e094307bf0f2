//! `GET /api/tools`: the tools and their schemas.

use actix_web::web::Json;
use tallybook_protocol::ToolInfo;

use super::state::State;
use crate::conversation::ConversationService;

pub(super) async fn list(state: State) -> Json<Vec<ToolInfo>> {
    Json(all(&state.service))
}

/// The tools as everybody may know them.
pub(super) fn all(service: &ConversationService) -> Vec<ToolInfo> {
    let specs = service.agent().tools().specs();
    let tools = specs.iter().map(|spec| ToolInfo {
        name: spec.name.clone(),
        description: spec.description.clone(),
        input_schema: spec.input_schema.clone(),
        risk: spec.risk.as_str().to_owned(),
    });
    tools.collect()
}
