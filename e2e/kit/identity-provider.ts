// A small OpenID Connect provider. Its sign-in page signs in every visitor as the same user. It signs its tokens with RSA.

import { createHash, createSign, generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const CLIENT_ID = "tallybook";

const encoded = (value: object | Buffer) =>
  (Buffer.isBuffer(value) ? value : Buffer.from(JSON.stringify(value))).toString("base64url");

/** Starts a provider. Returns the server settings that enable it, and a function that stops it. */
export async function startIdentityProvider(subject: string): Promise<{ settings: Record<string, string>; stop: () => void }> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const asked = new Map<string, { nonce: string; challenge: string }>();
  let url = "";
  const token = (nonce: string) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: url, aud: CLIENT_ID, sub: subject, preferred_username: subject, nonce, iat: now, exp: now + 300 };
    const signed = `${encoded({ alg: "RS256", kid: "one" })}.${encoded(claims)}`;
    return `${signed}.${encoded(createSign("RSA-SHA256").update(signed).sign(privateKey))}`;
  };
  const server = createServer(async (request, response) => {
    const address = new URL(request.url!, url);
    const json = (value: object, status = 200) =>
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
    switch (address.pathname) {
      case "/.well-known/openid-configuration":
        return json({
          issuer: url,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
          jwks_uri: `${url}/keys`,
          response_types_supported: ["code"],
          subject_types_supported: ["public"],
          id_token_signing_alg_values_supported: ["RS256"],
        });
      case "/keys":
        return json({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "RS256" }] });
      case "/authorize": {
        const of = (name: string) => address.searchParams.get(name)!;
        const [back, code] = [new URL(of("redirect_uri")), randomUUID()];
        asked.set(code, { nonce: of("nonce"), challenge: of("code_challenge") });
        back.searchParams.set("code", code);
        back.searchParams.set("state", of("state"));
        return response.writeHead(302, { Location: back.href }).end();
      }
      case "/token": {
        let body = "";
        for await (const chunk of request) body += chunk;
        const sent = new URLSearchParams(body);
        const known = asked.get(sent.get("code")!);
        const challenge = createHash("sha256").update(sent.get("code_verifier")!).digest("base64url");
        if (known?.challenge !== challenge) return json({ error: "invalid_grant" }, 400);
        asked.delete(sent.get("code")!);
        return json({ access_token: "none", token_type: "Bearer", id_token: token(known.nonce) });
      }
      default:
        return response.writeHead(404).end();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = { ACCOUNTS: "on", OIDC_ISSUER: url, OIDC_CLIENT_ID: CLIENT_ID, OIDC_NAME: "Example ID" };
  return { settings, stop: () => server.close() };
}
