import { spawn } from 'node:child_process';

/** Calls `failed` if no browser can be started. */
export function openBrowser(url: string, failed: () => void): void {
  const command = { darwin: 'open', win32: 'explorer' }[process.platform as string] ?? 'xdg-open';
  const browser = spawn(command, [url], { stdio: 'ignore', detached: true });
  browser.on('error', failed);
  // The one of Windows always ends with 1.
  if (process.platform !== 'win32') browser.on('exit', (code) => code && failed());
  browser.unref();
}
