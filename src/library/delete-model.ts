import { lstat, readdir, realpath, rmdir, unlink } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { withTargetLock } from './download.ts';
import type { LocalModelFile } from './find-models.ts';
import { variantsOf } from './variants.ts';

/** The files that belong to a model, and how many bytes they take. */
export interface Deletion {
  readonly files: readonly string[];
  readonly bytes: number;
}

const splitName = /^(?<stem>.+)-\d{5}-of-(?<count>\d{5})\.gguf$/i;
/** A folder that a download made for one repository: `owner--name`. */
const repositoryFolder = /^[^/\\]+--[^/\\]+$/;

/**
 * All files of a model of the models folder: its parts, their unfinished downloads, and, in the folder of its repository, what only it needs
 * (projectors, draft models). Rejects for files outside of the folder and for links.
 */
export async function filesOfModel(path: string, folder: string): Promise<Deletion> {
  const file = await ownPath(path, folder);
  const own = dirname(file);
  const names = await readdir(own);
  const { stem, count } = splitName.exec(basename(file))?.groups ?? {};
  const isPart = (name: string): boolean => {
    const other = splitName.exec(name)?.groups;
    return stem === undefined ? name === basename(file) : other?.stem === stem && other.count === count;
  };
  const others = names.map(wholeName).filter((name) => !isPart(name));
  const isAlone = variantsOf(others.map((other) => ({ path: other, bytes: 0 }))).length === 0;
  const isRepository = dirname(own) === (await realpath(folder)) && repositoryFolder.test(basename(own));
  // The config and the licence of a model of Ollama's registry.
  const isText = (name: string) =>
    basename(own).startsWith('ollama--') &&
    /\.(kcpps|license\.txt)$/.test(name) &&
    isPart(name.replace(/\.(kcpps|license\.txt)$/, '.gguf'));
  const belongs = (name: string) => isPart(name) || isText(name) || (isRepository && isAlone && /\.gguf$/i.test(name));
  const files: string[] = [];
  let bytes = 0;
  for (const name of names.filter((one) => belongs(wholeName(one)))) {
    const facts = await lstat(join(own, name));
    if (!facts.isFile()) continue;
    files.push(join(own, name));
    bytes += facts.size;
  }
  if (files.length === 0) throw new Error(`There is no file ${path}.`);
  return { files, bytes };
}

/** Deletes all files of a model. Rejects with a sentence for people if they may not or cannot be deleted. */
export async function deleteModel(path: string, folder: string): Promise<Deletion> {
  const model = await filesOfModel(path, folder);
  const deleteAll = async (): Promise<void> => {
    for (const file of model.files) await unlink(file);
  };
  const targets = new Set(model.files.map(wholeName));
  const deleteAlone = [...targets].reduce((work, target) => () => withTargetLock(target, work), deleteAll);
  try {
    await deleteAlone();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const inUse = ['EBUSY', 'EPERM', 'EACCES'].includes(code ?? '');
    const advice = inUse ? '. If it is loaded, unload it first; otherwise check the rights of the file' : '';
    throw new Error(`${path} could not be deleted: ${message}${advice}.`);
  }
  const own = dirname(model.files[0] ?? '');
  // Fails for folders that are not empty.
  if (own !== (await realpath(folder))) await rmdir(own).catch(() => undefined);
  return model;
}

/** How a model of another program is deleted. */
export function otherOwner({ name, path, program }: LocalModelFile): string {
  const ways: Readonly<Record<string, string>> = {
    Ollama: `with: ollama rm ${name}`,
    'Hugging Face': `with: hf cache rm model/${name.split('/').slice(0, 2).join('/')}`,
    'LM Studio': 'in its list of models (My Models)',
    Jan: 'in its list of models',
    GPT4All: 'in its list of models',
  };
  return `${name} belongs to ${program}. Delete it there ${ways[program] ?? `(the file is ${path})`}.`;
}

/** The real path of a file of the folder, which may be unfinished. Links are not followed, because they may lead to files of other programs. */
async function ownPath(path: string, folder: string): Promise<string> {
  if (!/\.gguf$/i.test(path)) throw new Error(`${path} is not a model file (.gguf).`);
  if ((await lstat(path).catch(() => undefined))?.isSymbolicLink())
    throw new Error(`${path} is a link to ${await realpath(path).catch(() => 'a missing file')}. Delete it there.`);
  const [parent, root] = await Promise.all([dirname(path), folder].map((one) => realpath(one).catch(() => undefined)));
  if (parent === undefined) throw new Error(`There is no file ${path}.`);
  const isInside = root !== undefined && (parent === root || parent.startsWith(root.endsWith(sep) ? root : root + sep));
  if (!isInside) throw new Error(`${path} is not in the models folder ${folder}, so it is not deleted.`);
  return join(parent, basename(path));
}

/** The name of the file that an unfinished download or its mark belongs to. */
function wholeName(name: string): string {
  return name.replace(/\.part([^/\\]*)$/i, '');
}
