import { stat } from 'node:fs/promises';
import { isModelFile } from '../models/admin-options.ts';
import type { PreparedModel } from '../models/prepared-model.ts';

/** The files that a model was made of, by path; what changes with their content. */
type Versions = Readonly<Record<string, string>>;

/** A file that was written to more recently may not be complete. */
const settledAfterMs = 2000;

/** Knows of each prepared model whether its files are still those that it was made of. */
export class FileVersions {
  readonly #made = new WeakMap<
    PreparedModel,
    { versions: Versions | Promise<Versions>; again: () => Promise<PreparedModel> }
  >();

  constructor(private readonly now: () => number) {}

  async of(paths: readonly (string | undefined)[]): Promise<Versions> {
    const known = paths.filter((path) => path !== undefined);
    return Object.fromEntries(
      await Promise.all(known.map(async (path) => [path, (await versionOf(path))?.text ?? ''] as const)),
    );
  }

  note(model: PreparedModel, versions: Versions | Promise<Versions>, again: () => Promise<PreparedModel>): void {
    this.#made.set(model, { versions, again });
  }

  /**
   * What prepares it anew, where its files have changed, are there and are not being written. A time of change in the future was set
   * before the clock was corrected.
   */
  async renewed(model: PreparedModel): Promise<(() => Promise<PreparedModel>) | undefined> {
    const made = this.#made.get(model);
    if (!made) return undefined;
    const before = await made.versions;
    const present = await Promise.all(
      Object.keys(before).map(async (path) => ({ path, version: await versionOf(path) })),
    );
    if (present.every(({ path, version }) => version?.text === before[path])) return undefined;
    const isComplete = ({ path, version }: (typeof present)[number]): boolean =>
      version !== undefined && (!isModelFile(path) || Math.abs(this.now() - version.modifiedAt) >= settledAfterMs);
    if (!present.every(isComplete)) return undefined;
    // One that cannot be prepared is not tried again before it changes again.
    made.versions = Object.fromEntries(present.map(({ path, version }) => [path, version?.text ?? '']));
    return made.again;
  }
}

/** By size and time of change. */
async function versionOf(path: string) {
  const facts = await stat(path).catch(() => undefined);
  return facts && { text: `${facts.size} ${facts.mtimeMs}`, modifiedAt: facts.mtimeMs };
}
