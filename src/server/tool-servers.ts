import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import { systemTimer } from '../http/timers.ts';
import { readServers, type ServerConfig } from '../mcp/config.ts';
import type { ToolServerPool } from '../mcp/pool.ts';
import { printable } from '../observe/printable.ts';
import { Repeats } from '../observe/repeats.ts';

export interface ToolServerParts {
  readonly settings: Pick<Settings, 'mcpfile' | 'mcptimeout'>;
  readonly product: { readonly name: string; readonly version: string };
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly say: (line: string) => void;
}

/** The servers of `--mcpfile`. Throws a clear sentence if the file cannot be used. */
export function namedServers({ settings: { mcpfile }, environment }: ToolServerParts): readonly ServerConfig[] {
  if (mcpfile === '') return [];
  try {
    return readServers(readFileSync(mcpfile, 'utf8'), { environment, folder: resolve(dirname(mcpfile)), resolve });
  } catch (error) {
    throw new Error(`--mcpfile ${mcpfile} cannot be used: ${(error as Error).message}.`, { cause: error });
  }
}

/** Connects in the background. Loads the MCP modules on demand. */
export async function connectToolServers(
  configs: readonly ServerConfig[],
  { settings, product, environment, say }: ToolServerParts,
): Promise<ToolServerPool> {
  const [{ toolServerPool }, { sdkSessions }, { processGuard }] = await Promise.all([
    import('../mcp/pool.ts'),
    import('../mcp/sdk-session.ts'),
    import('../mcp/guard.ts'),
  ]);
  // Limited, because a faulty tool server must not fill the log.
  const repeats = new Repeats({ say, lines: 20 });
  return toolServerPool(configs, {
    open: sdkSessions({ product, environment, guard: processGuard() }),
    startTimer: systemTimer,
    now: () => performance.now(),
    callMs: settings.mcptimeout * 1000,
    say: (line) => repeats.tell('tool servers', printable(line, 600)),
  });
}
