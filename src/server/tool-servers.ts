import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import { ownFolder } from '../core/data-folder.ts';
import { withFileLock } from '../core/file-lock.ts';
import { ifMissing } from '../core/if-missing.ts';
import { systemTimer } from '../core/timers.ts';
import type { ToolServerEditor } from '../core/tool-servers.ts';
import { type ReadOptions, readServers, type ServerConfig } from '../mcp/config.ts';
import { LoginFile } from '../mcp/logins.ts';
import type { ToolServerPool } from '../mcp/pool.ts';
import { printable } from '../observe/printable.ts';
import { RateLimitedLog } from '../observe/rate-limited-log.ts';
import type { ClientServices } from './client-services.ts';

interface ToolServerDeps {
  readonly settings: Pick<Settings, 'mcpfile' | 'mcptimeout' | 'admin'>;
  readonly product: { readonly name: string; readonly version: string };
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: (line: string) => void;
}

/** The file of MCP servers. With `--admin` it has a default, since servers can be added on the pages. */
export function serverFile({ mcpfile, admin }: Pick<Settings, 'mcpfile' | 'admin'>): string {
  return mcpfile !== '' || !admin ? mcpfile : join(ownFolder('config'), 'mcp.json');
}

function readOptions(path: string, environment: ToolServerDeps['environment']): ReadOptions {
  return { environment, folder: resolve(dirname(path)), resolve };
}

/** The servers of `--mcpfile`. Throws a clear sentence if the file cannot be used. */
export function namedServers({
  settings,
  environment,
}: Pick<ToolServerDeps, 'environment'> & {
  readonly settings: Pick<Settings, 'mcpfile' | 'admin'>;
}): readonly ServerConfig[] {
  const { mcpfile } = settings;
  const path = serverFile(settings);
  if (path === '' || (mcpfile === '' && !existsSync(path))) return [];
  try {
    return readServers(readFileSync(path, 'utf8'), readOptions(path, environment));
  } catch (error) {
    throw new Error(`--mcpfile ${path} cannot be used: ${(error as Error).message}.`, { cause: error });
  }
}

/** The tokens of `parley mcp login`. */
export function loginFile(path = join(ownFolder('config'), 'mcp-logins.json')): LoginFile {
  return new LoginFile({ read: () => textOf(path), write: secretly(path), exclusively: locked(path) });
}

const textOf = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(ifMissing(undefined));

/** Only this account can read the file: it may hold tokens. */
const secretly =
  (path: string) =>
  async (text: string): Promise<void> => {
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await rename(`${path}.new`, path);
  };

const locked =
  (path: string) =>
  async (change: () => Promise<void>): Promise<void> => {
    await mkdir(dirname(path), { recursive: true });
    await withFileLock(path, change);
  };

/** Adds and removes servers in the file and in the pool. */
export async function toolServerEditor(pool: ToolServerPool, deps: ToolServerDeps): Promise<ToolServerEditor> {
  const { serverFileEditor } = await import('../mcp/server-file.ts');
  const path = resolve(serverFile(deps.settings));
  return serverFileEditor({
    path,
    options: readOptions(path, deps.environment),
    read: () => textOf(path),
    exclusively: locked(path),
    write: secretly(path),
    add: pool.add,
    remove: pool.remove,
  });
}

/** The MCP servers of `--mcpallow`, which are connected for one request. */
export async function openAllowedServers(
  {
    settings,
    product,
  }: Pick<ToolServerDeps, 'product'> & { readonly settings: Pick<Settings, 'mcpallow' | 'mcptimeout'> },
  resolve?: (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>,
): Promise<Pick<ClientServices, 'mcp'>> {
  if (!settings.mcpallow?.length) return {};
  const [{ AllowedUrls, clientServers }, { sdkSessions }, { guardedFetch }] = await Promise.all([
    import('../mcp/client-servers.ts'),
    import('../mcp/sdk-session.ts'),
    import('../http/guarded-fetch.ts'),
  ]);
  const allowed = new AllowedUrls(settings.mcpallow);
  const fetch = guardedFetch({ allows: (url) => allowed.has(url), ...(resolve && { resolve }) });
  const guard = { add: () => undefined, end: () => undefined };
  return {
    mcp: clientServers(allowed, {
      open: sdkSessions({ product, environment: {}, guard, fetch }),
      startTimer: systemTimer,
      now: () => performance.now(),
      callMs: settings.mcptimeout * 1000,
    }),
  };
}

/** Connects in the background. Loads the MCP modules on demand. */
export async function connectToolServers(
  configs: readonly ServerConfig[],
  { settings, product, environment, log }: ToolServerDeps,
): Promise<ToolServerPool> {
  const [{ toolServerPool }, { sdkSessions }, { processGuard }] = await Promise.all([
    import('../mcp/pool.ts'),
    import('../mcp/sdk-session.ts'),
    import('../processes/guard.ts'),
  ]);
  // Limited, because a faulty tool server must not fill the log.
  const repeats = new RateLimitedLog({ log, lines: 20 });
  return toolServerPool(configs, {
    open: sdkSessions({ product, environment, guard: processGuard(), logins: loginFile() }),
    startTimer: systemTimer,
    now: () => performance.now(),
    callMs: settings.mcptimeout * 1000,
    log: (line) => repeats.log('tool servers', printable(line, 600)),
  });
}
