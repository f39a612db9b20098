import { join } from 'node:path';
import type { SystemFolders } from '../../core/data-folder.ts';
import { readText as readTextFile } from '../../core/read-text.ts';

/** The hub that the environment names, and the token for it. */
export interface Hub {
  /** Without a slash at its end. */
  readonly base: string;
  readonly token: string | undefined;
  /** No requests at all. */
  readonly offline: boolean;
  /** The registry of Ollama's models, without a slash at its end; undefined for the public one. */
  readonly registry?: string | undefined;
}

const publicHub = 'https://huggingface.co';

export function hubOf(system: SystemFolders, readText: (path: string) => string | undefined = readTextFile): Hub {
  const { environment } = system;
  return {
    base: (environment.HF_ENDPOINT || publicHub).replace(/\/+$/, ''),
    token: environment.HF_TOKEN || environment.HUGGING_FACE_HUB_TOKEN || savedToken(system, readText),
    offline: isOn(environment.HF_HUB_OFFLINE),
    registry: environment.PARLEY_OLLAMA_REGISTRY?.replace(/\/+$/, '') || undefined,
  };
}

/** The folder of the hub's own programs. */
export function hubHome({ environment, home }: SystemFolders): string {
  return environment.HF_HOME || join(environment.XDG_CACHE_HOME || join(home, '.cache'), 'huggingface');
}

/** The token that `hf auth login` has saved. */
function savedToken(system: SystemFolders, readText: (path: string) => string | undefined): string | undefined {
  const { environment } = system;
  if (isOn(environment.HF_HUB_DISABLE_IMPLICIT_TOKEN)) return undefined;
  return readText(environment.HF_TOKEN_PATH || join(hubHome(system), 'token'))?.trim() || undefined;
}

function isOn(value: string | undefined): boolean {
  return /^(1|on|yes|true)$/i.test(value ?? '');
}
