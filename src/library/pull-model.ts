import { mkdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { byteSize } from '../core/readable.ts';
import { readGguf } from '../gguf/gguf.ts';
import { type DownloadDeps, DownloadError, download, type Expected, readSha256, sizeOf } from './download.ts';
import { existingFiles } from './existing-files.ts';
import { type HubFile, type HubRepository, openFile, readRepository } from './hub/repository.ts';
import type { HubDeps } from './hub/request.ts';
import type { ModelFolder } from './model-folders.ts';
import { partBytes } from './part-file.ts';
import type { Source } from './source.ts';
import { chosenVariant, noVariant, projectorFor, type Variant, variantsOf } from './variants.ts';

export interface PulledModel {
  /** Of its first part. */
  readonly path: string;
  readonly projector: string | undefined;
  /** The new name of its repository, if that was moved. */
  readonly movedTo?: string | undefined;
  /** Settings that it comes with, by their keys in config files. */
  readonly preset?: Readonly<Record<string, unknown>>;
  /** The program that had it already, in its own folder. */
  readonly program?: string | undefined;
}

/** Lines for the console. */
export function pulledLines({ path, movedTo, program }: PulledModel): readonly string[] {
  const moved = movedTo === undefined ? [] : [`This model is now called ${movedTo}.`];
  return [...moved, program === undefined ? `Saved: ${path}` : `${program} has it already: ${path}`];
}

/** The variant of a tag, or the one to take where none is named; undefined if there is none. Throws if this model should not be downloaded. */
export type ChooseVariant = (
  repository: HubRepository,
  tag: string | undefined,
  deps: HubDeps,
) => Promise<Variant<HubFile> | undefined>;

export interface PullModelOptions {
  readonly folder: string;
  readonly expected?: Expected | undefined;
  /** Without it the default quantization is chosen. */
  readonly choose?: ChooseVariant | undefined;
  /** Folders of this and other programs, whose models are used where they are. */
  readonly modelFolders?: readonly ModelFolder[] | undefined;
}

/** What is left free on the disk, at most. */
const reservedBytes = 256 * 2 ** 20;

/** Downloads all that belongs to a model: its parts and its projector. Files that are there already are not downloaded again. */
export async function pullModel(
  { repository: id, revision, tag }: Omit<Source & { type: 'model' }, 'type'>,
  { folder, expected, choose, modelFolders = [] }: PullModelOptions,
  deps: HubDeps & Omit<DownloadDeps, 'fetch'>,
): Promise<PulledModel> {
  const repository = await readRepository(id, revision, deps);
  const variants = variantsOf(repository.files);
  const target = join(folder, id.replace('/', '--'));
  const own = (file: HubFile) => join(target, ownName(file, repository));
  const named = tag === undefined ? variants : variants.filter((one) => one === chosenVariant(variants, tag));
  const variant =
    (await begunVariant(named, own)) ?? (choose ? await choose(repository, tag, deps) : chosenVariant(variants, tag));
  if (!variant) throw noVariant(id, tag, variants);
  const [first] = variant.parts;
  if (expected && first?.sha256 !== expected.digest.toString('hex'))
    throw new DownloadError(
      `the hub names another sha256 for ${first?.path} (${first?.sha256}); nothing was downloaded`,
    );
  const projector = projectorFor(repository.files, variant);
  const isBegun = (await begunVariant([variant], own)) !== undefined;
  const there = isBegun ? undefined : await existingFiles({ id, parts: variant.parts, projector }, modelFolders);
  const pathOf = (file: HubFile) => there?.paths.get(file) ?? own(file);
  const files = [...variant.parts, ...(projector ? [projector] : [])];
  const missing = [];
  for (const file of files) if ((await sizeOf(pathOf(file))) !== file.bytes) missing.push(file);
  if (missing.length > 0) {
    await mkdir(target, { recursive: true });
    await checkSpace(
      target,
      missing.map((file) => ({ bytes: file.bytes, target: pathOf(file) })),
    );
  }
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const done = new Map(files.map((file) => [file, file.bytes]));
  for (const file of missing) done.set(file, await partBytes(pathOf(file)));
  const report = () =>
    deps.progress(
      [...done.values()].reduce((sum, bytes) => sum + bytes, 0),
      total,
    );
  report();
  for (const file of missing) {
    const hash = readSha256(file.sha256 ?? '');
    const progress = (bytes: number) => {
      done.set(file, bytes);
      report();
    };
    const fetch: typeof globalThis.fetch = (_, init) => openFile(repository, file.path, deps, init ?? {});
    const url = `${deps.hub.base}/${id}`;
    await download({ url, target: pathOf(file), expected: hash, bytes: file.bytes }, { ...deps, fetch, progress });
    if (!hash) await mustBeModel(pathOf(file));
    done.set(file, file.bytes);
  }
  deps.progress(total, total);
  const movedTo = repository.id.toLowerCase() === id.toLowerCase() ? {} : { movedTo: repository.id };
  const program = there && { program: there.program };
  return { path: first ? pathOf(first) : target, projector: projector && pathOf(projector), ...movedTo, ...program };
}

/** The one that is here already, or a part of it: another choice would begin from the start. */
async function begunVariant(
  variants: readonly Variant<HubFile>[],
  pathOf: (file: HubFile) => string,
): Promise<Variant<HubFile> | undefined> {
  for (const variant of variants.filter(({ whole }) => whole))
    for (const file of variant.parts)
      for (const path of [pathOf(file), `${pathOf(file)}.part`]) if ((await sizeOf(path)) > 0) return variant;
  return undefined;
}

/** Without folders, unless two files of the repository have the same name. The parts of a split model stay beside each other. */
function ownName({ path }: HubFile, { files }: HubRepository): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const same = files.filter((file) => file.path === name || file.path.endsWith(`/${name}`));
  return same.length > 1 ? path.replaceAll('/', '_') : name;
}

/** Rejects if these files do not fit on the disk. */
export async function checkSpace(
  folder: string,
  files: readonly { readonly bytes: number; readonly target: string }[],
): Promise<void> {
  let needed = 0;
  for (const { bytes, target } of files) needed += bytes - (await partBytes(target));
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (needed + Math.min(needed, reservedBytes) <= free) return;
  throw new DownloadError(
    `it needs ${byteSize(needed)} on the disk of ${folder}, which has ${byteSize(free)} free. Delete files there, or choose another folder`,
  );
}

/** Rejects error pages with status 200, and incomplete files. */
export async function mustBeModel(path: string): Promise<void> {
  if (!/\.gguf$/i.test(path)) return;
  try {
    await readGguf(path);
  } catch (error) {
    await rm(path, { force: true });
    throw new DownloadError(`what came is no model (${(error as Error).message}); nothing of it is kept`);
  }
}
