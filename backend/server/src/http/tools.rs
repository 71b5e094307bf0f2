//! `GET /api/tools`: the tools and their schemas.

use actix_web::web::Json;
use tallybook_protocol::ToolInfo;

use super::state::State;

pub(super) async fn list(state: State) -> Json<Vec<ToolInfo>> {
    let specs = state.service.agent().tools().specs();
    let tools = specs.iter().map(|spec| ToolInfo {
        name: spec.name.clone(),
        description: spec.description.clone(),
        input_schema: spec.input_schema.clone(),
        risk: spec.risk.as_str().to_owned(),
    });
    Json(tools.collect())
}
