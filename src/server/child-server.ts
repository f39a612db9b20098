import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { launcherVariable } from './shutdown-signals.ts';

/**
 * A server as a child process. It is stopped by a message, and stops when this process ends. A detached one does not get
 * the Ctrl+C of the terminal.
 */
export function startServer(args: readonly string[], { detached = false } = {}) {
  const program = fileURLToPath(new URL('../main.js', import.meta.url));
  return spawn(process.execPath, [program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, [launcherVariable]: '1' },
    detached,
    windowsHide: true,
  });
}
