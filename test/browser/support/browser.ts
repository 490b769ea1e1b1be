import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import axe from 'axe-core';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Where Debian puts it; the tests of the page are skipped where it is missing. */
export const CHROMIUM: string = process.env['DRYDOCK_CHROMIUM'] ?? '/usr/bin/chromium';
/** What a skipped test says. */
export const noBrowser: string | false = existsSync(CHROMIUM) ? false : `there is no Chromium at ${CHROMIUM}`;

/** A browser that asks nobody but who it is told to. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-dev-shm-usage'],
      ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ],
  });
}

/** What a page did that it should not have done. */
export interface Watched {
  readonly page: Page;
  /** Requests to others, violations of its policy, errors. */
  readonly faults: string[];
}

/** How it is looked at. */
export interface Look {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
}

/** Opens an address in a context of its own, and watches what it does. */
export async function watched(browser: Browser, url: string, look: Look = {}): Promise<Watched> {
  const { width = 1280, height = 900, theme = 'light' } = look;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const faults: string[] = [];
  const { host } = new URL(url);
  page.on('request', (request) => {
    const to = new URL(request.url());
    if (to.protocol !== 'data:' && to.host !== host) faults.push(`it asked ${request.url()}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(error.message));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
      console.error(`the policy forbids ${violatedDirective} ${blockedURI}`),
    );
  });
  await page.goto(url);
  return { page, faults };
}

/** What an accessibility checker finds on the page, in words. */
export async function accessibility(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as { readonly axe: typeof import('axe-core') };
    const { violations, passes } = await checker.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    });
    return {
      passes: passes.length,
      violations: violations.map(
        ({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' | ')}`,
      ),
    };
  });
  assert.ok(found.passes > 15, `only ${found.passes} rules had anything to look at`);
  return found.violations;
}

/** Where pictures of the page are kept. */
export const pictures: string =
  process.env['DRYDOCK_SCREENSHOTS'] ?? resolve(import.meta.dirname, '../../../.cache/page');

/** Keeps a picture of the page, its first `height` pixels. */
export async function picture(page: Page, name: string, height: number): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  const { width, whole } = await page.evaluate(() => ({
    width: window.innerWidth,
    whole: document.documentElement.scrollHeight,
  }));
  const clip = { x: 0, y: 0, width, height: Math.min(height, whole), scale: 1 };
  const browser = await page.context().newCDPSession(page);
  // A quarter of what a PNG needs; Playwright itself has no WebP.
  const wanted = { format: 'webp', quality: 75, clip, captureBeyondViewport: true } as const;
  const { data } = await browser.send('Page.captureScreenshot', wanted);
  await browser.detach();
  writeFileSync(join(pictures, `${name}.webp`), Buffer.from(data, 'base64'));
}
