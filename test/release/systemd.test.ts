import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../live/free-port.ts';
import { servesEverything } from '../live/serves-everything.ts';
import { type BareRoot, bareRoots, whyNoBareRoot } from './bare-root.ts';
import { installOneFile, whyNoFile } from './one-file.ts';

// The unit under a systemd of its own, which is the first process of a bare root. It shares nothing but the network with this machine.

const execute = promisify(execFile);
const unit = fileURLToPath(new URL('../../packaging/systemd/parley.service', import.meta.url));
const system = ['trixie', 'systemd', 'libnss-systemd'] as const;

let machine: ChildProcess | undefined;
let controlGroup: string | undefined;
// Roots are removed after the hook below: hooks run in reverse order.
const makeRoot = bareRoots();
afterAll(async () => {
  if (machine?.pid !== undefined && machine.exitCode === null && machine.signalCode === null) {
    // All others have ended when the first one has, and `unshare` waits for that.
    process.kill(firstProcess(machine.pid) ?? machine.pid, 'SIGKILL');
    await once(machine, 'close');
  }
  if (controlGroup !== undefined) removeGroups(controlGroup);
});

function whyNoSystemd(): string | undefined {
  return groupsMount() === undefined ? 'this machine has no control groups of version 2' : undefined;
}

function groupsMount(): string | undefined {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  return mounts.map((line) => line.split(' ')).find(([, , type]) => type === 'cgroup2')?.[1];
}

function removeGroups(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeGroups(join(folder, entry.name));
  }
  rmdirSync(folder);
}

/** Starts systemd in a root. Its settings of the kernel are read-only, so that it changes nothing of this machine. */
function boot({ path }: BareRoot): ChildProcess {
  controlGroup = join(groupsMount() ?? '', `parley-test-${process.pid}`);
  mkdirSync(controlGroup);
  // systemd wants its root to be a mount.
  const script = `
    mount --bind "$0" "$0"
    mount -t proc proc "$0/proc"
    mount --bind "$0/proc/sys" "$0/proc/sys"
    mount -o remount,bind,ro "$0/proc/sys"
    mount -t sysfs -o ro sysfs "$0/sys"
    mount -t cgroup2 cgroup2 "$0/sys/fs/cgroup"
    mount -t tmpfs tmpfs "$0/run"
    exec chroot "$0" /usr/bin/env -i container=bare-root /usr/lib/systemd/systemd --system --unit=parley.service`;
  const apart = ['--mount', '--pid', '--ipc', '--uts', '--cgroup', '--fork', '--kill-child=KILL'];
  const args = ['unshare', ...apart, 'sh', '-ec', script, path];
  return spawn('sh', ['-ec', 'echo $$ >"$0/cgroup.procs"; exec "$@"', controlGroup, ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

/** Resolves at the end of a process to what it wrote about its troubles. */
async function endOf(child: ChildProcess): Promise<string> {
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  return output;
}

/** The first process of what `unshare` started, by its number on this machine. */
function firstProcess(unshare: number): number | undefined {
  const [first] = readFileSync(`/proc/${unshare}/task/${unshare}/children`, 'utf8').trim().split(' ');
  return first ? Number(first) : undefined;
}

/** Runs a command beside the services. */
async function inNamespace(unshare: number, args: readonly string[]): Promise<string> {
  const enter = [
    '--target',
    String(firstProcess(unshare)),
    '--mount',
    '--pid',
    '--ipc',
    '--uts',
    '--cgroup',
    '--root',
    '--wd=/',
  ];
  return (await execute('nsenter', [...enter, ...args])).stdout.trim();
}

test('the systemd unit: serves everything as a user of its own, and stops in order', async ({ skip }) => {
  const why = whyNoFile() ?? (await whyNoBareRoot(...system)) ?? whyNoSystemd();
  if (why !== undefined) return skip(why);
  const root = await makeRoot(...system);
  installOneFile(root);
  copyFileSync(unit, join(root.path, 'etc/systemd/system/parley.service'));
  mkdirSync(join(root.path, 'etc/parley'));
  const port = await freePort();
  writeFileSync(join(root.path, 'etc/parley/environment'), `PARLEY_FLAGS=--port ${port} --threads 1\n`, {
    mode: 0o600,
  });

  machine = boot(root);
  const { pid = 0 } = machine;
  const base = `http://localhost:${port}`;
  const healthy = () => fetch(`${base}/health`).then(({ ok }) => ok, String);
  await Promise.race([
    expect.poll(healthy, { timeout: 120_000, interval: 250 }).toBe(true),
    endOf(machine).then((output) => Promise.reject(new Error(`systemd ended: ${output}`))),
  ]);
  await servesEverything(base);

  const show = (...names: string[]) =>
    inNamespace(pid, ['systemctl', 'show', '--value', `--property=${names.join()}`, 'parley']);
  const user = await inNamespace(pid, ['stat', '--format=%u', `/proc/${await show('MainPID')}`]);
  expect(Number(user)).toBeGreaterThan(1000);
  await inNamespace(pid, ['ls', '/var/lib/private/parley', '/var/cache/private/parley']);

  await inNamespace(pid, ['systemctl', 'stop', 'parley']);
  expect((await show('Result', 'ExecMainStatus')).split('\n').toSorted()).toEqual(['0', 'success']);
});
