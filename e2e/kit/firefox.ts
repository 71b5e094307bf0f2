// How Firefox is started. It is the machine's own, as `FIREFOX` names it, driven over WebDriver BiDi.

import { fileURLToPath } from "node:url";

export const firefox = {
  browserName: "firefox" as const,
  channel: "moz-firefox",
  locale: "en-GB",
  timezoneId: "UTC",
  launchOptions: {
    executablePath: fileURLToPath(new URL("firefox-relay.mjs", import.meta.url)),
    // Without a window Firefox sees no mouse, and the page would take it for a phone: 2 is a fine pointer, 4 one that hovers.
    firefoxUserPrefs: { "ui.primaryPointerCapabilities": 6, "ui.allPointerCapabilities": 6 },
  },
};
