import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isObject, tryParseJson } from '../core/json.ts';
import type { ModelFolder } from './model-folders.ts';
import { ollamaFileName, shortOllamaName } from './ollama/name.ts';
import { isCompanion } from './variants.ts';

/** Later parts of a split model, which is listed by its first part. */
const laterPart = /-(?!00001)\d{5}-of-\d{5}\.gguf$/i;

/** All model files in these folders, each once, under the name of the first folder that has it. */
export async function findModels(modelFolders: readonly ModelFolder[]): Promise<readonly LocalModelFile[]> {
  const files = (await Promise.all(modelFolders.map(filesOf))).flat();
  const known = new Map<string, LocalModelFile>();
  for (const file of files) {
    if (laterPart.test(file.path) || isCompanion(basename(file.path))) continue;
    const path = await wholeFile(file.path);
    if (path !== undefined && !known.has(path)) known.set(path, file);
  }
  return [...known.values()];
}

async function filesOf({ program, folder, layout }: ModelFolder): Promise<readonly LocalModelFile[]> {
  if (layout === 'ollama') return ollamaFiles(folder);
  if (layout === 'hugging-face') return hubFiles(folder, program);
  const named = layout === 'jan' ? await janFiles(folder) : [];
  const folders = new Set(named.map((file) => dirname(file.path)));
  const paths = (await filesBelow(folder, /\.gguf$/i)).filter((path) => !folders.has(dirname(path)));
  const others = paths.map((path) => {
    const repository = folderRepository(folder, relative(folder, path));
    const stem = basename(path).replace(/\.gguf$/i, '');
    const name = (repository && ollamaFileName(repository.id, stem)) ?? stem;
    return { name, path, program, ...(repository && { repository }) };
  });
  return [...named, ...others];
}

/** All model files of Jan have the same name, so that the folder with their `model.yml` is the name. It may name a file in another folder. */
async function janFiles(folder: string): Promise<readonly LocalModelFile[]> {
  const files: LocalModelFile[] = [];
  for (const yml of await filesBelow(folder, /^model\.yml$/i)) {
    const text = await readFile(yml, 'utf8').catch(() => '');
    const named = /^model_path:\s*(["']?)(.+?)\1\s*$/m.exec(text)?.[2];
    // Relative to the data folder, which is two folders above.
    const path = named === undefined ? join(dirname(yml), 'model.gguf') : resolve(folder, '..', '..', named);
    if (!/\.gguf$/i.test(path)) continue;
    const name = relative(folder, dirname(yml)).split(sep).join('/');
    files.push({ name, path, program: 'Jan' });
  }
  return files;
}

/** `owner--name/file` of this program, `owner/name/file` of others. */
function folderRepository(folder: string, path: string): LocalModelFile['repository'] {
  const [first = '', second = '', third] = path.split(sep);
  const id = downloadedId(first);
  if (id !== undefined) return { id, folder: join(folder, first) };
  return third === undefined ? undefined : { id: `${first}/${second}`, folder: join(folder, first, second) };
}

/** The repository that a folder of downloads is named after: `owner--name`. */
export function downloadedId(folder: string): string | undefined {
  const { owner, name } = /^(?!models--)(?<owner>.+?)--(?<name>.+)$/.exec(folder)?.groups ?? {};
  return name && `${owner}/${name}`;
}

/** The real path; undefined for missing and empty files. */
async function wholeFile(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    const facts = await stat(real);
    return facts.isFile() && facts.size > 0 ? real : undefined;
  } catch {
    return undefined;
  }
}

/** The cache of the Hugging Face hub: `models--owner--name/snapshots/revision/file.gguf`, each a link to its content. */
async function hubFiles(folder: string, program: string): Promise<readonly LocalModelFile[]> {
  const files: LocalModelFile[] = [];
  for (const path of await filesBelow(folder, /\.gguf$/i)) {
    const repository = cachedRepository(folder, relative(folder, path));
    const content = await realpath(path).catch(() => undefined);
    if (repository === undefined || content === undefined) continue;
    // Only large files are named by their SHA-256.
    const hash = /^[0-9a-f]{64}$/.exec(basename(content))?.[0];
    const name = `${repository.id}/${basename(path).replace(/\.gguf$/i, '')}`;
    files.push({ name, path, program, repository, ...(hash && { sha256: hash }) });
  }
  return files;
}

function cachedRepository(root: string, path: string): LocalModelFile['repository'] {
  const [folder = '', kind = '', revision = ''] = path.split(sep);
  const match = /^models--(?<owner>.+?)--(?<name>.+)$/.exec(folder)?.groups;
  if (!match || kind !== 'snapshots') return undefined;
  return { id: `${match.owner}/${match.name}`, folder: join(root, folder, kind, revision) };
}

const modelLayer = 'application/vnd.ollama.image.model';

/** Ollama names weights by their hash. The path of a manifest is the name of a model; its content names the weights. */
async function ollamaFiles(folder: string): Promise<readonly LocalModelFile[]> {
  const manifests = join(folder, 'manifests');
  const files: LocalModelFile[] = [];
  for (const path of await filesBelow(manifests, /./)) {
    const sha256 = weightsOf(await readFile(path, 'utf8').catch(() => ''));
    if (sha256 === undefined) continue;
    const blob = join(folder, 'blobs', `sha256-${sha256}`);
    files.push({ name: modelName(relative(manifests, path)), path: blob, program: 'Ollama', sha256 });
  }
  return files;
}

export function modelName(manifestPath: string): string {
  const [host = '', namespace = '', ...rest] = manifestPath.split(sep);
  const tag = rest.pop() ?? '';
  return shortOllamaName({ host, namespace, model: rest.join('/'), tag });
}

export function weightsOf(manifest: string): string | undefined {
  const { layers } = (tryParseJson(manifest) ?? {}) as Readonly<Record<string, unknown>>;
  const layer = Array.isArray(layers)
    ? layers.find((one: unknown) => isObject(one) && one.mediaType === modelLayer)
    : {};
  return /^sha256:([0-9a-f]{64})$/.exec(String(layer?.digest))?.[1];
}

const maxDepth = 6;
const maxEntries = 50_000;

/** All matching files below a folder; none if it is missing or unreadable. */
export async function filesBelow(folder: string, ending: RegExp): Promise<readonly string[]> {
  const paths: string[] = [];
  let seen = 0;
  const look = async (place: string, depth: number): Promise<void> => {
    const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      seen += 1;
      if (seen > maxEntries) return;
      const path = join(place, entry.name);
      if (entry.isDirectory()) {
        if (depth < maxDepth && !entry.name.startsWith('.')) await look(path, depth + 1);
      } else if (ending.test(entry.name)) paths.push(path);
    }
  };
  await look(folder, 0);
  return paths;
}

/** A model file on this machine. Its header has not been read. */
export interface LocalModelFile {
  /** As its program calls it, without extension. */
  readonly name: string;
  readonly path: string;
  readonly program: string;
  /** The repository of the hub that it seems to come from, and the folder with its files. */
  readonly repository?: { readonly id: string; readonly folder: string } | undefined;
  /** Expected hash, if known. */
  readonly sha256?: string;
}
