// Shows a page in the user's language if the server is unreachable, instead of the browser's error page. The worker has no
// cache: every page and every response comes from the server, so none is outdated. The page registers it with its language.

const TEXTS = {
  en: [
    "Tallybook cannot be reached",
    "You are offline, or the server is not running. Your conversations are saved on the server.",
    "Try again",
  ],
  ja: [
    "Tallybookに接続できません",
    "オフラインになっているか、サーバーが停止しています。会話はサーバーに保存されています。",
    "もう一度試す",
  ],
};

const STYLE =
  ":root{color-scheme:light dark}body{display:grid;place-content:center;gap:1rem;min-height:90vh;margin:0 1.5rem;" +
  "background:light-dark(#fcfaf5,#191611);color:light-dark(#231e17,#ede6da);font:1rem/1.6 system-ui,sans-serif}" +
  "h1,p{margin:0;max-width:30rem}h1{font:500 2rem/1.2 Georgia,serif}a{color:light-dark(#2c4a80,#a9c1f2)}";

function offline() {
  const language = new URL(location.href).searchParams.get("lang") === "ja" ? "ja" : "en";
  const [title, text, again] = TEXTS[language];
  const page =
    `<!DOCTYPE html><html lang="${language}"><meta charset="utf-8">` +
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${STYLE}</style>` +
    `<main><h1>${title}</h1><p>${text}</p><p><a href="">${again}</a></p></main></html>`;
  return new Response(page, {
    status: 503,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    },
  });
}

// A new version replaces the previous one at once, since neither has a cache.
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { mode, url } = event.request;
  // Downloads are navigations, too.
  if (mode === "navigate" && !new URL(url).pathname.startsWith("/api/")) {
    event.respondWith(fetch(event.request).catch(offline));
  }
});
