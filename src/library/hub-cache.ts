import { realpath } from 'node:fs/promises';
import { basename, relative, sep } from 'node:path';
import type { FoundFile } from './found-file.ts';
import { filesBelow } from './walk.ts';

/** The cache of the Hugging Face hub: `models--owner--name/snapshots/revision/file.gguf`, each a link to its content. */
export async function hubFiles(folder: string): Promise<readonly FoundFile[]> {
  const found = await Promise.all(
    (await filesBelow(folder, /\.gguf$/i)).map(async (path): Promise<readonly FoundFile[]> => {
      const repository = repositoryOf(relative(folder, path));
      const content = await realpath(path).catch(() => undefined);
      if (repository === undefined || content === undefined) return [];
      // Large files are named by their hash, small ones by that of their version.
      const hash = /^[0-9a-f]{64}$/.exec(basename(content))?.[0];
      const name = `${repository}/${basename(path).replace(/\.gguf$/i, '')}`;
      return [{ name, path, program: 'Hugging Face', ...(hash && { sha256: hash }) }];
    }),
  );
  return found.flat();
}

function repositoryOf(path: string): string | undefined {
  const [folder = '', kind] = path.split(sep);
  const match = /^models--(?<owner>.+?)--(?<name>.+)$/.exec(folder)?.groups;
  return match && kind === 'snapshots' ? `${match.owner}/${match.name}` : undefined;
}
