// Launch options for Firefox. They use the machine's own Firefox, which `FIREFOX` names, over WebDriver BiDi.

import { fileURLToPath } from "node:url";

export const firefox = {
  browserName: "firefox" as const,
  channel: "moz-firefox",
  locale: "en-GB",
  timezoneId: "UTC",
  launchOptions: {
    executablePath: fileURLToPath(new URL("firefox-relay.mjs", import.meta.url)),
    // A headless Firefox sees no mouse, so the page would treat it as a phone. 2 is a fine pointer, 4 a pointer that hovers.
    firefoxUserPrefs: { "ui.primaryPointerCapabilities": 6, "ui.allPointerCapabilities": 6 },
  },
};
