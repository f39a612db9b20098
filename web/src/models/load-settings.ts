import type { LoadSettings } from '../../../src/core/models-view.ts';
import { command, read } from '../api/call.ts';
import { Failure } from '../api/failure.ts';

/** Reply of `GET /api/admin/load_settings`. */
export interface LoadStatus extends LoadSettings {
  readonly model: string | null;
  readonly pending: boolean;
  readonly error: string | null;
  readonly in_use: {
    readonly context: number | null;
    readonly trained_context: number | null;
    readonly layers: number | null;
    readonly gpu_layers: number | null;
    readonly quantkv: string;
    readonly flashattention: boolean;
  };
}

export const cacheTypes = ['f16', 'bf16', 'q8_0', 'q5_1', 'q4_0'];

const path = 'api/admin/load_settings';

export function fetchLoad(): Promise<LoadStatus> {
  return read<LoadStatus>(path, { background: true });
}

/** How often the state is fetched while the model loads. */
const lookMs = 400;

/** Loads the model again. Resolves when it is loaded; rejects with the reason if it is loaded as before. */
export async function changeLoad(settings: Partial<LoadSettings>): Promise<LoadStatus> {
  await command(path, settings);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    const now = await fetchLoad();
    if (now.pending) continue;
    if (now.error !== null) throw new Failure(now.error);
    return now;
  }
}

/** Writes all settings of the model to a config on the server. Resolves to its path. */
export async function saveConfig(): Promise<string> {
  const { path: saved, error } = await read<{ path?: string; error?: string }>('api/admin/save_config', { body: {} });
  if (saved === undefined) throw new Failure(error ?? '');
  return saved;
}
