import { readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { FoundFile } from './found-file.ts';
import { filesBelow } from './walk.ts';

const modelLayer = 'application/vnd.ollama.image.model';

/**
 * Ollama keeps weights in files named by their hash. A manifest, whose path is the name of the model, says which of them
 * belong to it.
 */
export async function ollamaFiles(folder: string): Promise<readonly FoundFile[]> {
  const manifests = join(folder, 'manifests');
  const found = await Promise.all(
    (await filesBelow(manifests, /./)).map(async (path): Promise<readonly FoundFile[]> => {
      const digest = weightsOf(await readFile(path, 'utf8').catch(() => ''));
      if (digest === undefined) return [];
      const blob = join(folder, 'blobs', `sha256-${digest}`);
      return [{ name: modelName(relative(manifests, path)), path: blob, program: 'Ollama', sha256: digest }];
    }),
  );
  return found.flat();
}

/** `library` is where names without an owner live, and `latest` is meant where no tag is said. */
export function modelName(manifestPath: string): string {
  const [host = '', owner = '', ...rest] = manifestPath.split(sep);
  const tag = rest.pop() ?? '';
  const name = rest.join('/');
  const own =
    host === 'registry.ollama.ai' ? (owner === 'library' ? name : `${owner}/${name}`) : `${host}/${owner}/${name}`;
  return tag === 'latest' ? own : `${own}:${tag}`;
}

export function weightsOf(manifest: string): string | undefined {
  try {
    const { layers } = JSON.parse(manifest) as { layers?: { mediaType?: unknown; digest?: unknown }[] };
    const digest = layers?.find(({ mediaType }) => mediaType === modelLayer)?.digest;
    return typeof digest === 'string' ? /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1] : undefined;
  } catch {
    return undefined;
  }
}
