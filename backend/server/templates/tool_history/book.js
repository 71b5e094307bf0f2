// What the pages of the book gain where scripts run: times also in the reader's own zone, the next page below the one before, a
// turn that plays in place, and the end of a re-run that comes by itself. The server draws all of it, and each thing does what
// a link of the page does where no script runs.

/** How long a moment of a playback is to be seen at least, and how long the end of a re-run is waited for. */
const MOMENT_MS = 100;
const RERUN_MS = 1000;
/** The longest wait for an answer, and what proxies answer for a server that is out of reach. */
const TIMEOUT_MS = 30_000;
const OUT_OF_REACH = [502, 503, 504];

const local = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "long" });

/** Says beside each time what clocks showed where the reader is. In tables, which have no room, only where it is pointed at. */
function sayLocally(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue;
    time.title = local.format(at);
    if (time.closest("table, a") !== null) continue;
    const own = document.createElement("span");
    own.className = "book-local";
    own.textContent = ` (${time.title})`;
    time.append(own);
  }
}

/** Says that the server is out of reach, or no longer. */
function tellOffline(isOffline) {
  const note = document.getElementById("offline");
  note.hidden = !isOffline;
  note.textContent = isOffline ? note.dataset.words : "";
}

/**
 * Loads a page, to take parts of. Returns `undefined` if the server is out of reach: the page stays, with what was typed in it. Any
 * other answer is opened: it asks to sign in, or for a reason, or says what is wrong.
 */
async function load(address) {
  const answer = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined);
  const isPage = answer?.ok && !answer.redirected;
  const text = isPage ? await answer.text().catch(() => undefined) : "";
  const isOffline = !answer || text === undefined || OUT_OF_REACH.includes(answer.status);
  tellOffline(isOffline);
  if (isOffline) return undefined;
  if (!isPage) {
    location.assign(address);
    return new Promise(() => {});
  }
  const page = new DOMParser().parseFromString(text, "text/html");
  sayLocally(page);
  return page;
}

/** Shows the next page below this one, and leads the reader to where it begins. */
async function showMore(link) {
  if (link.ariaBusy === "true") return;
  link.ariaBusy = "true";
  const page = await load(link.href);
  if (!page) {
    link.ariaBusy = null;
    return;
  }
  const [found, further] = [document, page].map((it) => it.getElementById("found"));
  const [rows, added] = [found, further].map((it) => it.querySelector("[data-rows]"));
  const first = added?.firstElementChild;
  if (!rows) found.replaceWith(further);
  else if (added) rows.append(...added.children);
  document.getElementById("on").replaceWith(page.getElementById("on"));
  history.replaceState(null, "", link.href);
  (first?.querySelector("a") ?? document.querySelector("#on a"))?.focus();
}

/** The playback as it is drawn now, and what the server says of it. */
const stage = () => document.getElementById("playback");
const told = (name) => (stage().dataset[name] === undefined ? undefined : Number(stage().dataset[name]));

/** Counts what was asked for: what is asked for ends what was going on. */
let asked = 0;
/** The milliseconds at which a playback is. */
let place = 0;

/** Shows another moment. Returns `false` if something else was asked for meanwhile, or the server is out of reach. */
async function goTo(address, mine) {
  const page = await load(address);
  if (mine !== asked || !page) return false;
  const focused = stage().contains(document.activeElement) ? document.activeElement.id : "";
  const wereOpen = [...stage().querySelectorAll("details")].map((details) => details.open);
  stage().replaceWith(page.getElementById("playback"));
  [...stage().querySelectorAll("details")].forEach((details, number) => (details.open = wereOpen[number] ?? false));
  if (focused !== "") document.getElementById(focused)?.focus();
  history.replaceState(null, "", address);
  place = told("at");
  return true;
}

/** Plays on from the moment that is shown, where that is to be played. A moment is asked for when it is to be seen. */
async function play(mine) {
  const speed = told("speed");
  if (speed === undefined) return;
  const [whole, begun] = [told("duration"), performance.now() - told("at") / speed];
  let drawn = performance.now();
  while (mine === asked && told("after") !== undefined) {
    const now = await new Promise(requestAnimationFrame);
    if (mine !== asked) return;
    place = Math.max(place, Math.min(whole, Math.floor((now - begun) * speed)));
    stage().querySelector("progress").value = place;
    if (place < told("after") || now - drawn < MOMENT_MS) continue;
    const address = new URL(location.href);
    address.searchParams.set("at", place);
    address.searchParams.set("speed", speed);
    if (!(await goTo(address.href, mine))) return;
    drawn = performance.now();
  }
}

/** Goes where a link of the playback leads, from where it is by now. */
async function follow(link) {
  const address = new URL(link.href);
  if (address.searchParams.get("at") === stage().dataset.at) address.searchParams.set("at", place);
  const mine = ++asked;
  if (await goTo(address.href, mine)) await play(mine);
}

/** Waits for the end of the re-run that is shown. */
async function awaitRerun() {
  while (document.querySelector("#rerun[data-running]")) {
    await new Promise((resolve) => setTimeout(resolve, RERUN_MS));
    const page = await load(location.href);
    if (!page) continue;
    for (const id of ["rerun-words", "rerun"]) {
      document.getElementById(id).replaceChildren(...page.getElementById(id).childNodes);
    }
    document.getElementById("rerun").toggleAttribute("data-running", page.querySelector("#rerun[data-running]") !== null);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const act = link.matches("#on [rel=next]") ? showMore : link.matches("#playback .book-ways a") ? follow : undefined;
  if (!act) return;
  event.preventDefault();
  void act(link);
});

sayLocally(document);
void awaitRerun();
if (stage()) {
  place = told("at");
  void play(asked);
}
