import { stat } from 'node:fs/promises';
import type { PackInstalls, PackStatus } from '../core/pack-installs.ts';
import { type Pack, type PackPackage, packageFolder, packs, systemOf } from './catalogue.ts';
import { type CheckOptions, checkPack, unsharedPackages } from './check.ts';
import { type InstallDeps, installPackages, removePackage } from './install.ts';

interface PackInstallsDeps extends CheckOptions, Omit<InstallDeps, 'progress' | 'signal'> {
  /** When engines were last chosen, in milliseconds since 1970. */
  readonly chosenAt: () => number;
}

interface Job {
  state: 'waiting' | 'running' | 'failed';
  done: number;
  total: number;
  reason: string | undefined;
  readonly stop: AbortController;
  ended: Promise<void>;
}

const sizeOf = (packages: readonly PackPackage[]): number =>
  packages.reduce((sum, { megabytes }) => sum + megabytes * 1e6, 0);

/** The installations of a running server, one after the other: packs share packages. */
export function packInstalls(deps: PackInstallsDeps): PackInstalls {
  const { folder, chosenAt, system = process } = deps;
  const catalogue = (deps.catalogue ?? packs).filter(({ packages }) => packages[systemOf(system)] !== undefined);
  const jobs = new Map<string, Job>();
  let last: Promise<void> = Promise.resolve();

  async function install(pack: Pack, job: Job): Promise<void> {
    const { signal } = job.stop;
    try {
      signal.throwIfAborted();
      job.state = 'running';
      const { packages } = await checkPack(pack, deps, 'quick');
      const missing = packages.flatMap((one) => (one.state.type === 'installed' ? [] : [one.wanted]));
      job.total = sizeOf(missing);
      await installPackages(missing, folder, (one, index) => {
        const before = sizeOf(missing.slice(0, index));
        job.done = before;
        // The catalogue rounds the sizes.
        const progress = (done: number, total = done) => {
          job.done = before + Math.min(1, done / Math.max(1, total)) * sizeOf([one]);
        };
        return { ...deps, signal, progress };
      });
      jobs.delete(pack.name);
    } catch (error) {
      if (signal.aborted) jobs.delete(pack.name);
      else Object.assign(job, { state: 'failed', reason: (error as Error).message });
    }
  }

  async function statusOf(pack: Pack): Promise<PackStatus> {
    const { type, packages } = await checkPack(pack, deps, 'quick');
    const missing = packages.filter(({ state }) => state.type !== 'installed');
    const weighed = type === 'installed' ? packages : missing;
    const placed = await Promise.all(packages.map(({ wanted }) => changedAt(packageFolder(folder, wanted.name))));
    const job = jobs.get(pack.name);
    return {
      name: pack.name,
      brings: pack.brings,
      licence: pack.licence,
      bytes: sizeOf(weighed.map(({ wanted }) => wanted)),
      state: type === 'unsupported' ? 'absent' : type,
      inUse: type === 'installed' && placed.every((time) => time <= chosenAt()),
      job: job && {
        state: job.state,
        doneBytes: Math.round(job.done),
        totalBytes: Math.round(job.total),
        reason: job.reason,
      },
    };
  }

  const named = (name: string): Pack | undefined => catalogue.find((pack) => pack.name === name);

  return {
    list: () => Promise.all(catalogue.map(statusOf)),
    add: (name) => {
      const pack = named(name);
      if (!pack) return false;
      const known = jobs.get(name);
      if (known && known.state !== 'failed') return true;
      const begun = { state: 'waiting', done: 0, total: 0, reason: undefined, stop: new AbortController() } as const;
      const job: Job = { ...begun, ended: Promise.resolve() };
      jobs.set(name, job);
      last = last.then(() => install(pack, job));
      job.ended = last;
      return true;
    },
    remove: async (name) => {
      const pack = named(name);
      if (!pack) return false;
      const job = jobs.get(name);
      job?.stop.abort();
      await job?.ended;
      jobs.delete(name);
      for (const one of await unsharedPackages(pack, deps)) await removePackage(one, folder);
      return true;
    },
  };
}

/** When a folder was put in place. */
async function changedAt(folder: string): Promise<number> {
  return (await stat(folder).catch(() => undefined))?.ctimeMs ?? 0;
}
