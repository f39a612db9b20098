import { execFile, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';

const execute = promisify(execFile);
/** What was downloaded for earlier runs. */
export const downloads = fileURLToPath(new URL('../../.cache/bare-root', import.meta.url));

/** How a command runs inside of a root. */
export interface Inside {
  /** Ids of user and group, as `1000:1000`; those of root unless told otherwise. */
  readonly user?: string;
  readonly folder?: string;
  /** Nothing else of the environment reaches it. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Files and folders of this machine that it sees, by their path inside. */
  readonly mounts?: Readonly<Record<string, string>>;
  /** The process whose network it uses, or `own` for one with a loopback interface only. */
  readonly network?: number | 'own';
}

/** The file tree of a Debian system with nothing but the essential packages and apt. */
export interface BareRoot {
  readonly path: string;
  /** The command line of this machine that becomes the given one inside. Mounts are seen and kept by that process alone. */
  command(args: readonly string[], inside?: Inside): readonly string[];
  /** Runs a command to its end and returns its output. */
  run(args: readonly string[], inside?: Inside): Promise<string>;
  /** A fingerprint of each file by its path. */
  files(): ReadonlyMap<string, string>;
  /** Processes of this machine that live inside. */
  processes(): readonly number[];
}

/** A release of Debian, and packages besides the essential ones. */
export type MakeBareRoot = (suite: string, ...packages: string[]) => Promise<BareRoot>;

/** The roots of one test file: whatever happens in its tests, neither their files nor their processes outlive it. */
export function bareRoots(): MakeBareRoot {
  const paths = new Set<string>();
  const removeAll = () => {
    for (const path of paths) {
      for (const pid of processesIn(path)) process.kill(pid, 'SIGKILL');
      rmSync(path, { recursive: true, force: true, maxRetries: 5 });
    }
    paths.clear();
  };
  process.once('exit', removeAll);
  afterAll(() => {
    removeAll();
    process.off('exit', removeAll);
  });
  return async (suite, ...packages) => {
    const archive = await debianArchive(suite, packages);
    const path = mkdtempSync(join(tmpdir(), 'parley-root-'));
    paths.add(path);
    await execute('tar', ['-xpf', archive, '--numeric-owner', '-C', path]);
    await execute('chmod', ['755', path]);
    return bareRoot(path);
  };
}

/** Why there can be no bare root on this machine; undefined if there can. */
export async function whyNoBareRoot(suite: string, ...packages: string[]): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'bare roots are made of Linux';
  if (process.getuid?.() !== 0) return 'only root may change the root folder';
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0) return 'this machine allows no mount namespaces';
  try {
    await debianArchive(suite, packages);
    return undefined;
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    if (code === 'ENOENT') return 'mmdebstrap is not installed (apt-get install mmdebstrap)';
    return `mmdebstrap cannot make Debian ${suite}: ${stderr?.trim().split('\n').at(-1)}`;
  }
}

async function debianArchive(suite: string, packages: readonly string[]): Promise<string> {
  const archive = join(downloads, `${['debian', suite, process.arch, ...packages].join('-')}.tar`);
  if (existsSync(archive)) return archive;
  mkdirSync(downloads, { recursive: true });
  const partial = join(downloads, `${process.pid}.tar`);
  try {
    const include = packages.length > 0 ? [`--include=${packages.join()}`] : [];
    const options = ['--quiet', '--variant=minbase', ...include];
    await execute('mmdebstrap', [...options, suite, partial, 'http://deb.debian.org/debian']);
    renameSync(partial, archive);
  } finally {
    rmSync(partial, { force: true });
  }
  return archive;
}

function bareRoot(path: string): BareRoot {
  const command: BareRoot['command'] = (args, inside = {}) => commandInside(path, args, inside);
  return {
    path,
    command,
    run: async (args, inside) => {
      const [file = '', ...rest] = command(args, inside);
      const { stdout, stderr } = await execute(file, rest, { maxBuffer: 1e8 });
      return stdout + stderr;
    },
    files: () => filesBelow(path),
    processes: () => processesIn(path),
  };
}

/** Each program becomes the next one, so that the process that is started is the wanted one in the end. */
function commandInside(path: string, args: readonly string[], inside: Inside): readonly string[] {
  const { user = '0:0', folder = '/', environment = {}, mounts = {}, network } = inside;
  const binds = Object.entries(mounts).flatMap(([target, source]) => {
    makeMountPoint(join(path, target), lstatSync(source).isDirectory());
    return [source, join(path, target)];
  });
  const script = [
    'mount -t proc proc "$1/proc"',
    ...(network === 'own' ? ['ip link set lo up'] : []),
    'shift',
    ...Object.keys(mounts).map(() => 'mount --bind "$1" "$2"; shift 2'),
    'exec "$@"',
  ];
  return [
    ...(typeof network === 'number' ? ['nsenter', `--net=/proc/${network}/ns/net`] : []),
    ...['unshare', '--mount', ...(network === 'own' ? ['--net'] : [])],
    ...['sh', '-ec', script.join('\n'), 'sh', path, ...binds],
    ...['chroot', `--userspec=${user}`, '--groups=', path],
    ...['/usr/bin/env', '-i', `--chdir=${folder}`],
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    ...args,
  ];
}

function makeMountPoint(target: string, isFolder: boolean): void {
  if (existsSync(target)) return;
  mkdirSync(isFolder ? target : dirname(target), { recursive: true });
  if (!isFolder) writeFileSync(target, '');
}

function filesBelow(root: string): ReadonlyMap<string, string> {
  const libraries = new Map<string, string>();
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const { mode, uid, size, mtimeMs } = lstatSync(path);
    // The time of a folder only says that something in it came or went.
    libraries.set(path.slice(root.length), [mode, uid, ...(entry.isDirectory() ? [] : [size, mtimeMs])].join(' '));
  }
  return libraries;
}

/** Paths that came, went or changed between two looks. */
export function changesBetween(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].filter((path) => before.get(path) !== after.get(path)).sort();
}

function processesIn(root: string): readonly number[] {
  const numbers = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return numbers.map(Number).filter((pid) => {
    try {
      return readlinkSync(`/proc/${pid}/root`) === root;
    } catch {
      return false;
    }
  });
}
