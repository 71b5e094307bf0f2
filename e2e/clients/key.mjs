// Signs in, creates an API key, and prints it: `node key.mjs URL NAME PASSWORD`.

const [url, name, password] = process.argv.slice(2);

async function post(path, body, cookie = "") {
  const headers = { "content-type": "application/json", cookie };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response;
}

const session = await post("/api/session", { name, password });
const cookie = session.headers.getSetCookie()[0].split(";")[0];
const { key } = await (await post("/api/keys", { name: "a client", password }, cookie)).json();
console.log(key);
