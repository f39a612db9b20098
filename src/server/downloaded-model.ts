import { basename, dirname, join, relative, sep } from 'node:path';
import type { Settings } from '../config/flags.ts';
import type { ModelFile } from '../engines/llama/load-options.ts';
import { downloadedId, filesBelow } from '../library/find-models.ts';
import { projectorFor } from '../library/variants.ts';

interface DownloadedOptions {
  /** Whether pictures and sound can be used. */
  readonly hasVision: () => boolean;
  readonly line: (text: string) => void;
}

/** The repository of a file that was downloaded from the hub, by the name of its folder: `owner--name`. */
export function downloadOf(path: string): { readonly id: string; readonly folder: string } | undefined {
  for (let folder = dirname(path), up = 0; up < 3; folder = dirname(folder), up += 1) {
    const id = downloadedId(basename(folder));
    if (id !== undefined) return { id, folder };
  }
  return undefined;
}

/** The settings of a downloaded model: with its projector, unless another one is named. */
export async function withProjector(
  settings: Settings,
  file: Pick<ModelFile, 'path'>,
  { hasVision, line }: DownloadedOptions,
): Promise<Settings> {
  const download = downloadOf(file.path);
  if (!download) return settings;
  const projector = settings.mmproj === '' ? await projectorOf(file.path, download.folder) : undefined;
  if (projector !== undefined && !hasVision())
    line('This model understands pictures or sound, too, with: parley pack add vision');
  const mmproj = projector !== undefined && hasVision() ? projector : settings.mmproj;
  return { ...settings, mmproj };
}

async function projectorOf(path: string, folder: string): Promise<string | undefined> {
  const within = (file: string) => ({ path: relative(folder, file).split(sep).join('/'), bytes: 0 });
  const files = (await filesBelow(folder, /\.gguf$/i)).map(within);
  const variant = { label: '', parts: [within(path)], bytes: 0, whole: true };
  const projector = projectorFor(files, variant);
  return projector && join(folder, projector.path);
}
