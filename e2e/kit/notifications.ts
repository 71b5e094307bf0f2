// Replaces the browser's notifications with a fake, and records them.

import type { Page } from "@playwright/test";

/**
 * Records the notifications that the page requests; the browser under test shows none. A request for permission returns
 * `permission`.
 */
export async function watchNotifications(page: Page, permission: string): Promise<() => Promise<string[]>> {
  await page.addInitScript((permission) => {
    const shown: string[] = [];
    class FakeNotification extends EventTarget {
      static permission = "default";
      static async requestPermission() {
        FakeNotification.permission = permission;
        return permission;
      }
      constructor(title: string, options: NotificationOptions) {
        super();
        shown.push(`${title}: ${options.body}`);
      }
      close() {}
    }
    Object.assign(window, { Notification: FakeNotification, shown });
  }, permission);
  return () => page.evaluate(() => (window as unknown as { shown: string[] }).shown);
}
