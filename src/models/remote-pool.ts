import type { Settings } from '../config/flags.ts';
import { type RemotePurpose, remoteAddresses } from '../config/remote.ts';
import { BackendPool, type BackendPoolParts } from '../engines/remote/backend-pool.ts';
import { shownName } from '../engines/remote/kinds.ts';
import type { Terminal } from '../observe/terminal.ts';
import { engineTimer } from './lifecycle.ts';

export type Console = Pick<Terminal, 'line'>;

/** A pool of remote backends of one capability. */
export function backendPool(
  capability: string,
  parts: Pick<BackendPoolParts, 'addresses' | 'identify'>,
  terminal: Console,
): BackendPool {
  return new BackendPool({
    ...parts,
    environment: process.env,
    capability,
    startTimer: engineTimer,
    now: () => performance.now(),
    say: (line) => terminal.line(line),
  });
}

/** The backends of `--remote` for a purpose; undefined if there are none. */
export function remoteModel({ remote }: Settings, purpose: RemotePurpose) {
  const addresses = remoteAddresses(remote, purpose);
  const [first] = addresses;
  if (!first) return undefined;
  // Until they are probed, only the command line is known.
  const model = first.model === undefined ? undefined : shownName(first.model);
  const atOnce = addresses.reduce((sum, { parallel }) => sum + parallel, 0);
  return { name: model ?? first.host, model, addresses, atOnce: () => atOnce };
}
