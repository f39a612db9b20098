import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Where systems put it; `PARLEY_CHROMIUM` names another place. */
const candidates = [
  process.env.PARLEY_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

export const chromiumProgram = candidates.find((path) => path !== undefined && existsSync(path));

/** The same engine without windows, which takes half of the processor time. It has no notifications and no hidden pages. */
export const headlessShell = ['/usr/bin/chromium-headless-shell'].find(existsSync);

/**
 * The browser's own toolbar and address bar are pages too, loaded for each window in a process that takes a second of a core, though
 * nothing of them is visible here. Another process is started ahead for a page that never comes.
 */
const unusedPages = [
  'InitialWebUI',
  'PreloadTopChromeWebUI',
  'SpareRendererForSitePerProcess',
  'WebUIOmniboxAimPopup',
  'WebUIOmniboxFullPopup',
  'WebUIOmniboxPopup',
  'WebUIReloadButton',
  'WebUIToolbar',
];
/** What Playwright switches off. Of two such flags the last one counts, so they are repeated here. */
const disabledByPlaywright = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'TcpPortRandomizationWin',
  'ThirdPartyStoragePartitioning',
];

/** A browser without requests to the internet. `more`: further flags. */
export async function startChromium(more: readonly string[] = [], program = chromiumProgram): Promise<Browser> {
  if (program === undefined)
    throw new Error('There is no Chromium: install the package `chromium`, or set PARLEY_CHROMIUM.');
  return chromium.launch({
    executablePath: program,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--use-fake-ui-for-media-stream',
      '--use-fake-device-for-media-stream',
      `--disable-features=${[...disabledByPlaywright, ...unusedPages].join()}`,
      ...more,
    ],
  });
}
