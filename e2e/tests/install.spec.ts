// Tests that the page can be installed as an app, and what it shows while the server is unreachable.

import { NOTHING, findings } from "../kit/axe.ts";
import { alive } from "../kit/chat.ts";
import { choose } from "../kit/listbox.ts";
import { expect, test } from "../kit/test.ts";

test.use({ serviceWorkers: "allow" });

test("the page has a valid manifest, with icons that exist", async ({ page, request }) => {
  await page.goto("/");
  const address = await page.locator('link[rel="manifest"]').getAttribute("href");
  const answer = await request.get(address!);
  expect(answer.headers()["content-type"]).toContain("application/manifest+json");
  const manifest = await answer.json();
  expect(manifest).toMatchObject({ name: "Tallybook", start_url: "/", display: "standalone" });
  const sizes = await page.evaluate(async (icons: { src: string }[]) => {
    const load = async ({ src }: { src: string }) => {
      const image = new Image();
      image.src = src;
      await image.decode();
      return `${image.naturalWidth}x${image.naturalHeight}`;
    };
    return Promise.all(icons.filter(({ src }) => src.endsWith(".png")).map(load));
  }, manifest.icons);
  expect(sizes).toEqual(["192x192", "512x512", "512x512"]);
  expect(manifest.icons.filter(({ purpose }: { purpose?: string }) => purpose === "maskable")).toHaveLength(1);
  // The browser's own checks of the manifest.
  const session = await page.context().newCDPSession(page);
  const { errors } = await session.send("Page.getAppManifest");
  expect(errors).toEqual([]);
  const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
  const grave = installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito");
  expect(grave).toEqual([]);
});

test("the browser's own bars have the page's color in the selected theme", async ({ page }) => {
  await page.goto("/settings");
  await alive(page);
  expect(await page.locator("meta[name=viewport]").getAttribute("content")).toContain("viewport-fit=cover");
  const colors = () =>
    page.evaluate(() => {
      const metas = [...document.querySelectorAll<HTMLMetaElement>("meta[name=theme-color]")];
      const probe = document.body.appendChild(document.createElement("p"));
      probe.style.color = metas.find((meta) => matchMedia(meta.media).matches)!.content;
      const bars = getComputedStyle(probe).color;
      probe.remove();
      return { bars, paper: getComputedStyle(document.body).backgroundColor };
    });
  const seen = new Set<string>();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const theme of ["light", "dark", "system"]) {
      await choose(page.getByTestId("setting-theme"), theme);
      const { bars, paper } = await colors();
      expect(bars, `${theme} on ${colorScheme}`).toBe(paper);
      seen.add(bars);
      await page.reload();
      await alive(page);
      expect((await colors()).bars, "also in the server-rendered page").toBe(bars);
    }
  }
  expect(seen.size).toBe(2);
});

test("the page reports an unreachable server, caches no data, and recovers", async ({ page, context, tolerated }) => {
  tolerated.push(/Failed to load resource/, /net::ERR_/);
  await page.goto("/");
  await page.evaluate(() => navigator.serviceWorker.ready);
  await alive(page);

  await context.setOffline(true);
  expect(await page.evaluate(() => fetch("/api/conversations").then(() => "answered", () => "failed"))).toBe("failed");
  await page.goto("/c/00000000-0000-4000-8000-000000000001");
  await expect(page.getByRole("heading", { name: "Tallybook cannot be reached" })).toBeVisible();
  const display = await page.evaluate(() => getComputedStyle(document.body).display);
  expect(display, "the policy allows its style").toBe("grid");
  expect(await findings(page)).toEqual(NOTHING);
  expect(await page.evaluate(() => caches.keys())).toEqual([]);

  await context.setOffline(false);
  await page.getByRole("link", { name: "Try again" }).click();
  await expect(page.getByText("This conversation was not found.").first()).toBeVisible();
});

test("the message is in the language of the page", async ({ page, context, tolerated }) => {
  tolerated.push(/Failed to load resource/);
  await context.addCookies([{ name: "tallybook_language", value: "ja", url: "http://127.0.0.1" }]);
  await page.goto("/");
  await page.evaluate(() => navigator.serviceWorker.ready);
  await context.setOffline(true);
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Tallybookに接続できません" })).toBeVisible();
  expect(await findings(page)).toEqual(NOTHING);
});
