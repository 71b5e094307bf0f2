// Launch options for Chromium. They use the machine's own Chromium; nothing is downloaded.

export const chromium = {
  browserName: "chromium" as const,
  locale: "en-GB",
  timezoneId: "UTC",
  launchOptions: {
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    // Chromium cannot use its sandbox as root in a container. No test visits a foreign page.
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
