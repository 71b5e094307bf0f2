// How Chromium is started. It is the machine's own; nothing is downloaded.

export const chromium = {
  browserName: "chromium" as const,
  locale: "en-GB",
  timezoneId: "UTC",
  launchOptions: {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    // As root in a container there is no sandbox to be had, and nothing here visits a foreign page.
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  },
};
