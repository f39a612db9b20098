import { closeSync, existsSync, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { attempt } from '../core/attempt.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** How the program was started. */
export interface Start {
  readonly showgui: boolean;
  readonly skiplauncher: boolean;
  /** Whether any flag or environment variable is set. */
  readonly isConfigured: boolean;
  readonly environment: Environment;
  readonly platform: string;
  readonly streams: Streams;
  readonly container: boolean;
  /** Process ids of this program and its parent. */
  readonly pids: readonly number[];
  /** File name of the parent program. */
  readonly parentName: () => string;
}

/** Where input and output go; `detached` if the output is not read (no controlling terminal, and no pipe). */
type Streams = 'terminal' | 'redirected' | 'detached';

/** What opens in the browser: the launcher, the page of the server once it is ready, or nothing. */
export type FirstPage = 'launcher' | 'web client' | 'none';

/**
 * The launcher opens on request and for a double-clicked file, the web client for a person who started the program in a terminal
 * without any settings. Scripts, services and remote machines get the server only.
 */
export function firstPage(start: Start): FirstPage {
  const { showgui, skiplauncher, isConfigured, environment, platform, container, streams } = start;
  if (skiplauncher) return 'none';
  if (showgui) return 'launcher';
  if (isConfigured || container || environment.CI || !hasDisplay(environment, platform)) return 'none';
  if (isDoubleClick(start)) return 'launcher';
  return streams === 'terminal' ? 'web client' : 'none';
}

/** Whether a browser can be opened. The display of an SSH session is on another machine. */
export function hasDisplay(environment: Environment, platform: string): boolean {
  if (environment.SSH_CONNECTION || environment.SSH_TTY) return false;
  if (platform === 'darwin' || platform === 'win32') return true;
  return Boolean(environment.DISPLAY || environment.WAYLAND_DISPLAY);
}

/**
 * Only the single-file program can be double-clicked. Windows opens a console for it, so the parent tells; other systems give it no
 * terminal. (macOS opens Terminal for a bare program, which looks like typing its name.)
 */
function isDoubleClick(start: Start): boolean {
  if (start.environment.PARLEY_SINGLE_FILE !== '1') return false;
  if (start.platform === 'win32') return /^explorer\.exe$/i.test(start.parentName());
  return start.streams === 'detached' && !isService(start);
}

/** Whether systemd or launchd started it, of a desktop session too. Applications have a launchd name that begins with `application`. */
function isService({ environment, platform, pids }: Start): boolean {
  if (platform !== 'darwin') return pids.includes(Number(environment.SYSTEMD_EXEC_PID));
  const label = environment.XPC_SERVICE_NAME ?? '0';
  return label !== '0' && !label.startsWith('application.');
}

/** Where the input and output of this process go. */
export function ownStreams(environment: Environment): Streams {
  if (isatty(0) && isatty(1)) return 'terminal';
  if (hasControllingTerminal() || isPipe(environment)) return 'redirected';
  return 'detached';
}

function hasControllingTerminal(): boolean {
  const terminal = attempt(() => openSync('/dev/tty', 'r'), undefined);
  if (terminal !== undefined) closeSync(terminal);
  return terminal !== undefined;
}

/** Whether a program reads the output. The journal, which desktops connect their applications to, does not count. */
function isPipe({ JOURNAL_STREAM }: Environment): boolean {
  const output = attempt(() => fstatSync(1), undefined);
  if (!output?.isSocket()) return output?.isFIFO() ?? false;
  return JOURNAL_STREAM !== `${output.dev}:${output.ino}`;
}

/** Docker, Podman, systemd-nspawn, LXC and Kubernetes. The variable `container` decides if it is set; empty means no container. */
export function inContainer(environment: Environment, exists = existsSync): boolean {
  const { container, KUBERNETES_SERVICE_HOST } = environment;
  if (container !== undefined) return container !== '';
  return Boolean(KUBERNETES_SERVICE_HOST) || ['/.dockerenv', '/run/.containerenv'].some((path) => exists(path));
}

/** How to start the program again, for hints: as it was started. */
export function ownCommand(environment: Environment, program = process.execPath): string {
  const { PARLEY_SINGLE_FILE, npm_lifecycle_event: event, npm_package_name: name } = environment;
  const file = /([/\\])(parley[^/\\]*)$/i.exec(program);
  if (PARLEY_SINGLE_FILE === '1' && file) return `.${file[1]}${file[2]}`;
  // Not `npx parley`: without an installed package npx would run that of another project on the registry.
  return event === 'start' && name === 'parley' ? 'npm start --' : 'parley';
}
