import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as systemWait } from 'node:timers/promises';
import type { Settings } from '../config/flags.ts';
import { AppError } from '../core/errors.ts';
import { isAlive as isAliveNow } from '../core/processes.ts';
import { ownCommand } from '../launcher/first-page.ts';
import { offeredKinds } from '../models/engine-kinds.ts';
import type { PreparedModel } from '../models/prepared-model.ts';
import { startsLoaded } from '../models/residence.ts';
import { embeddedModel } from '../models/text-engine.ts';
import { type Addresses, baseUrl, hintLines, readyLines } from '../observe/banner.ts';
import { JsonTerminal } from '../observe/json-log.ts';
import { printable } from '../observe/printable.ts';
import type { Terminal } from '../observe/terminal.ts';
import { channelPath, openChannel, stopInstance } from './instance-channel.ts';
import { openBrowser } from './open-browser.ts';
import type { Runtime } from './runtime.ts';

export interface Serving {
  readonly runtime: Pick<Runtime, 'app' | 'engine' | 'preload' | 'exit' | 'stop'> &
    Partial<Pick<Runtime, 'lan'>> & {
      readonly model: Pick<PreparedModel, 'taskModels' | 'file'>;
    };
  /** Models of other kinds that flags name; they are loaded after the text model. */
  readonly configuredModels?: readonly ConfiguredModel[];
  readonly settings: Settings;
  readonly terminal: Terminal;
  /** Open the web client in the browser, as with `--launch`. */
  readonly opensPage?: boolean;
  readonly open?: typeof openBrowser;
  /** Where instances on the port find each other; by default in a folder of the account. */
  readonly channel?: string;
  /** Called when the port is open: from then on a fault in one request must not end the others. */
  readonly listening?: () => void;
  readonly wait?: (milliseconds: number) => Promise<void>;
  readonly isAlive?: (pid: number) => boolean;
}

interface ConfiguredModel {
  readonly name: string;
  readonly kind: string;
  readonly optional?: boolean;
  load(): Promise<void>;
}

/** Opens the port at once, loads the models unless that is left to the first request, and prints the addresses. */
export async function serve(serving: Serving): Promise<void> {
  const { runtime, settings, terminal } = serving;
  const { app, engine } = runtime;
  const { port } = await listen(serving);
  serving.listening?.();
  const addresses: Addresses = { scheme: settings.ssl ? 'https' : 'http', port, host: settings.host };
  terminal.line(`Listening on ${baseUrl(addresses)}`, { event: 'start', url: baseUrl(addresses) });
  // In autoswap mode the first request loads what it needs.
  const starts = startsLoaded(settings);
  if (starts) await engine.start();
  const state = engine.state();
  // It was stopped before it was loaded.
  if (state.type === 'loading' && starts && !state.trouble) return;
  const missing = state.type === 'failed' ? undefined : await loadConfigured(serving);
  if (!missing) {
    await app.server.close();
    return runtime.exit(3);
  }
  const failed = missing.map(({ kind }) => kind);
  const offers = offeredKinds(runtime.model.taskModels, state.type !== 'none', failed);
  for (const line of readyLines(addresses, settings, offers)) terminal.line(line);
  const builtIn = runtime.model.file?.path === embeddedModel;
  const hints = hintLines({ command: ownCommand(process.env), builtIn, interactive: terminal.interactive });
  for (const line of hints) terminal.line(line);
  if (runtime.lan) {
    const { announceLan } = await import('./lan-server.ts');
    const color = terminal.interactive && !process.env.NO_COLOR;
    await announceLan({ ...runtime.lan, port, terminal, color, server: app.server });
  }
  if (settings.launch || serving.opensPage) {
    const url = baseUrl(addresses);
    const { open = openBrowser } = serving;
    open(url, () => terminal.line(`No browser could be started; open ${url} yourself.`));
  }
  runtime.preload();
  if (settings.onready) runOnReady(settings.onready, terminal);
}

/** Those that could not be loaded; undefined if one of them is not optional. */
async function loadConfigured({
  configuredModels = [],
  settings,
  terminal,
}: Serving): Promise<readonly ConfiguredModel[] | undefined> {
  if (settings.autoswapmode) return [];
  const missing: ConfiguredModel[] = [];
  for (const model of configuredModels) {
    const { name, optional = false } = model;
    try {
      await model.load();
    } catch (error) {
      const line = error instanceof AppError ? error.message : `${name} could not be loaded: ${String(error)}`;
      // An engine that failed in its own process has reported it already.
      if (!terminal.hasPrinted(line)) terminal.line(line, { level: 'error' });
      if (!optional) return undefined;
      missing.push(model);
    }
  }
  return missing;
}

/** A minute. After that the start continues although the other instance still runs. */
const maxLooks = 240;

/** With `--singleinstance` an older instance on the port is asked to stop first, and this one can be asked by a newer one. */
async function listen(serving: Serving): Promise<{ port: number }> {
  const { runtime, settings, terminal, channel } = serving;
  const { app, stop } = runtime;
  if (!settings.singleinstance) return app.server.listen();
  const listening = await app.server.listen().catch(async (error: unknown) => {
    if (!(await dismissOther(serving))) throw error;
    terminal.line('Another instance made room for this one.');
    return app.server.listen();
  });
  await openChannel(channel ?? channelPath(listening.port), () => stop('another instance takes over')).catch(
    (error: Error) => {
      terminal.line(`A newer instance cannot ask this one to stop (--singleinstance): ${error.message}.`);
    },
  );
  return listening;
}

async function dismissOther(serving: Serving): Promise<boolean> {
  const { settings, terminal, channel = channelPath(settings.port), wait = systemWait, isAlive = isAliveNow } = serving;
  const own = await stopInstance(channel);
  // Another account, or KoboldCpp. It would get the password, so it is asked only where there is none.
  const pid = own ?? (settings.password ? undefined : await stopByHttp(settings, wait));
  if (pid === undefined) {
    if (settings.password)
      terminal.line(
        `The program on port ${settings.port} is not an instance of this account, so it is not asked to stop (--singleinstance).`,
      );
    return false;
  }
  for (let look = 0; look < maxLooks && pid > 0 && isAlive(pid); look++) await wait(250);
  return true;
}

/** The process id, 0 if it does not say it; undefined if it does not stop. */
async function stopByHttp(
  { port, ssl }: Settings,
  wait: (milliseconds: number) => Promise<void>,
): Promise<number | undefined> {
  try {
    const reply = await fetch(`${ssl ? 'https' : 'http'}://127.0.0.1:${port}/api/extra/shutdown`, { method: 'POST' });
    const { success, pid } = (await reply.json()) as { success?: boolean; pid?: unknown };
    if (success !== true) return undefined;
    // It answers first and then stops. Its running requests may take until its --shutdowntimeout.
    await wait(2500);
    return Number.isInteger(pid) ? Number(pid) : 0;
  } catch {
    return undefined;
  }
}

function runOnReady(command: string, terminal: Terminal): void {
  terminal.line(`Running the command of --onready: ${command}`);
  const json = terminal instanceof JsonTerminal;
  const child = spawn(command, { shell: true, stdio: json ? ['inherit', 'pipe', 'pipe'] : 'inherit' });
  // In a log of objects its lines are objects too.
  for (const output of [child.stdout, child.stderr])
    if (output)
      createInterface(output).on('line', (line) => terminal.line(printable(line, 1000), { event: 'onready' }));
  child.on('error', (error) => terminal.line(`The command of --onready failed: ${error.message}`, { level: 'error' }));
}
