"""A tool server made with the official Python SDK (`mcp` on PyPI), with OAuth client credentials in front.

`python3 python_sdk_server.py PORT` serves MCP at /mcp to clients with a token, and issues tokens at /token to the client
`id` with the secret `secret`. Each token is valid for ten requests, so that tests also see an invalid token.
"""

import base64
import secrets
import sys

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from starlette.requests import Request
from starlette.responses import JSONResponse

PORT = int(sys.argv[1])
USES = 10
CLIENT = "Basic " + base64.b64encode(b"id:secret").decode()

uses_left: dict[str, int] = {}


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        if uses_left.get(token, 0) == 0:
            return None
        uses_left[token] -= 1
        return AccessToken(token=token, client_id="id", scopes=["tools"])


auth = AuthSettings(
    issuer_url=f"http://127.0.0.1:{PORT}",
    resource_server_url=f"http://127.0.0.1:{PORT}/mcp",
    required_scopes=["tools"],
    validate_token_resource=False,
)
server = MCPServer("python-sdk", auth=auth, token_verifier=Verifier(), log_level="WARNING")


@server.custom_route("/token", methods=["POST"])
async def token(request: Request) -> JSONResponse:
    form = await request.form()
    if request.headers.get("authorization") != CLIENT or form.get("grant_type") != "client_credentials":
        return JSONResponse({"error": "invalid_client"}, status_code=401)
    token = secrets.token_urlsafe()
    uses_left[token] = USES
    return JSONResponse({"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": "tools"})


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def shout(text: str) -> str:
    """Says it loudly."""
    return text.upper()


@server.tool()
def weigh(apples: int, pears: int = 0) -> dict[str, int]:
    """Weighs fruit, in grams."""
    return {"grams": 150 * apples + 180 * pears}


@server.tool()
async def count(to: int, context: Context) -> str:
    """Counts, and says how far it is."""
    for number in range(1, to + 1):
        await context.report_progress(number, to, f"at {number}")
    return "counted"


@server.tool()
def fail() -> str:
    """Never works."""
    raise ValueError("it did not work")


server.run("streamable-http", host="127.0.0.1", port=PORT)
