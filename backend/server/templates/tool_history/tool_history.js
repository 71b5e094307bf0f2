// Script of the tool history pages. It adds local times, loads further pages below the first one, plays a turn in place, and
// updates a running re-run. The server renders all content. Without scripts, the links of the pages do the same.

/** Minimum time that a playback shows one position, and poll interval of a re-run. */
const MIN_POSITION_MS = 100;
const RERUN_POLL_MS = 1000;
/** Timeout of a request, and the statuses with which proxies report an unreachable server. */
const TIMEOUT_MS = 30_000;
const UNREACHABLE_STATUSES = [502, 503, 504];

const local = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "long" });

/** Adds the local time to each time. In tables and links, it is only in the tooltip, which saves room. */
function addLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) continue;
    time.title = local.format(at);
    if (time.closest("table, a") !== null) continue;
    const own = document.createElement("span");
    own.className = "history-local";
    own.textContent = ` (${time.title})`;
    time.append(own);
  }
}

/** Shows or hides the notice that the server is unreachable. */
function showOffline(isOffline) {
  const note = document.getElementById("offline");
  note.hidden = !isOffline;
  note.textContent = isOffline ? note.dataset.words : "";
}

/**
 * Loads a page to take parts of it. Returns `undefined` if the server is unreachable; the current page and its input fields then
 * stay. Navigates to the page if the response is not the page itself: a sign-in form, a form for a reason, or an error.
 */
async function load(address) {
  const answer = await fetch(address, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined);
  const isPage = answer?.ok && !answer.redirected;
  const text = isPage ? await answer.text().catch(() => undefined) : "";
  const isOffline = !answer || text === undefined || UNREACHABLE_STATUSES.includes(answer.status);
  showOffline(isOffline);
  if (isOffline) return undefined;
  if (!isPage) {
    location.assign(address);
    return new Promise(() => {});
  }
  const page = new DOMParser().parseFromString(text, "text/html");
  addLocalTimes(page);
  return page;
}

/** Appends the next page below this one and moves the focus to its first link. */
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

/** The element of the playback, and the numbers in its data attributes. */
const stage = () => document.getElementById("playback");
const data = (name) => (stage().dataset[name] === undefined ? undefined : Number(stage().dataset[name]));

/** Number of the latest user action. A new action ends the previous one. */
let actions = 0;
/** Position of the playback, in milliseconds. */
let position = 0;

/** Shows another position. Returns `false` if the user did something else meanwhile, or if the server is unreachable. */
async function goTo(address, mine) {
  const page = await load(address);
  if (mine !== actions || !page) return false;
  const focused = stage().contains(document.activeElement) ? document.activeElement.id : "";
  const wereOpen = [...stage().querySelectorAll("details")].map((details) => details.open);
  stage().replaceWith(page.getElementById("playback"));
  [...stage().querySelectorAll("details")].forEach((details, number) => (details.open = wereOpen[number] ?? false));
  if (focused !== "") document.getElementById(focused)?.focus();
  history.replaceState(null, "", address);
  position = data("at");
  return true;
}

/** Plays from the position shown, if the page has a speed. Requests each position when it is due. */
async function play(mine) {
  const speed = data("speed");
  if (speed === undefined) return;
  const [whole, begun] = [data("duration"), performance.now() - data("at") / speed];
  let drawn = performance.now();
  while (mine === actions && data("after") !== undefined) {
    const now = await new Promise(requestAnimationFrame);
    if (mine !== actions) return;
    position = Math.max(position, Math.min(whole, Math.floor((now - begun) * speed)));
    stage().querySelector("progress").value = position;
    if (position < data("after") || now - drawn < MIN_POSITION_MS) continue;
    const address = new URL(location.href);
    address.searchParams.set("at", position);
    address.searchParams.set("speed", speed);
    if (!(await goTo(address.href, mine))) return;
    drawn = performance.now();
  }
}

/** Follows a link of the playback. A link that only changes the speed keeps the current position. */
async function follow(link) {
  const address = new URL(link.href);
  if (address.searchParams.get("at") === stage().dataset.at) address.searchParams.set("at", position);
  const mine = ++actions;
  if (await goTo(address.href, mine)) await play(mine);
}

/** Polls the page until the re-run shown has ended. */
async function awaitRerun() {
  while (document.querySelector("#rerun[data-running]")) {
    await new Promise((resolve) => setTimeout(resolve, RERUN_POLL_MS));
    const page = await load(location.href);
    if (!page) continue;
    for (const id of ["rerun-words", "rerun", "earlier-reruns"]) {
      document.getElementById(id)?.replaceChildren(...(page.getElementById(id)?.childNodes ?? []));
    }
    document.getElementById("rerun").toggleAttribute("data-running", page.querySelector("#rerun[data-running]") !== null);
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const act = link.matches("#on [rel=next]") ? showMore : link.matches("#playback .history-ways a") ? follow : undefined;
  if (!act) return;
  event.preventDefault();
  void act(link);
});

addLocalTimes(document);
void awaitRerun();
if (stage()) {
  position = data("at");
  void play(actions);
}
