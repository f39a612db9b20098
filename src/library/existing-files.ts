import { basename, dirname, join } from 'node:path';
import { findModels, type LocalModelFile } from './find-models.ts';
import type { HubFile } from './hub/repository.ts';
import type { ModelFolder } from './model-folders.ts';
import { sizeOf } from './part-file.ts';

/** All parts of a model where another program has them, and its projector if it is there, too. Known by their hash, or by name and size in a folder of their repository. */
export async function existingFiles(
  { id, parts, projector }: { id: string; parts: readonly HubFile[]; projector: HubFile | undefined },
  modelFolders: readonly ModelFolder[],
) {
  const [first] = parts;
  if (!first) return undefined;
  for (const file of await findModels(modelFolders)) {
    if (!isSame(file, first, id)) continue;
    const folder = dirname(file.path);
    const paths = new Map(parts.map((part) => [part, join(folder, nameOf(part))]));
    paths.set(first, file.path);
    if (!(await Promise.all([...paths].map(([file, path]) => hasSize(path, file)))).every(Boolean)) continue;
    if (projector) {
      const blobs = modelFolders
        .filter(({ layout }) => layout === 'ollama')
        .map((place) => join(place.folder, 'blobs'));
      const hashed = blobs.map((blob) => join(blob, `sha256-${projector.sha256}`));
      for (const path of [...hashed, join(folder, nameOf(projector))])
        if (await hasSize(path, projector)) paths.set(projector, path);
    }
    return { program: file.program, paths };
  }
  return undefined;
}

function isSame({ sha256, repository, path }: LocalModelFile, file: HubFile, id: string): boolean {
  if (sha256 !== undefined && file.sha256 !== undefined) return sha256 === file.sha256;
  return repository?.id.toLowerCase() === id.toLowerCase() && basename(path) === nameOf(file);
}

function nameOf({ path }: HubFile): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

async function hasSize(path: string, { bytes }: HubFile): Promise<boolean> {
  return bytes > 0 && (await sizeOf(path)) === bytes;
}
