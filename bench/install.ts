import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { BenchOptions } from './options.ts';
import { freePort } from './ports.ts';
import type { Row } from './report.ts';
import { median } from './statistics.ts';

const timeoutMs = 300_000;

/** From the command to the first answer: a new clone with a warm npm cache, its next starts, and the one-file program. */
export async function installBench({ quick, log }: BenchOptions): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-install-'));
  const rounds = quick ? 1 : 5;
  const rows: Row[] = [];
  const add = (what: string, value: number, goal?: Row['goal']): void => {
    log(`${what}: ${value.toFixed(2)} s`);
    rows.push({ bench: 'install', what, value, unit: 's', ...(goal && { goal }) });
  };
  try {
    const clone = join(folder, 'clone');
    spawnSync('git', ['clone', '--quiet', resolve('.'), clone]);
    const npmStart = () => firstAnswer('npm', ['start', '--', '--skiplauncher'], clone);
    add('a new clone: npm start', await npmStart(), { atMost: 20 });
    const next = await several(rounds, npmStart);
    add('the next npm start', next, { atMost: 1 });
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    const file = resolve(`release/parley-${version}-linux-${process.arch}`);
    if (!existsSync(file)) {
      log('no one-file program: npm run release makes it');
      return rows;
    }
    const oneFile = () => firstAnswer(file, ['--skiplauncher'], folder, { PARLEY_HOME: join(folder, 'home') });
    add('the one file, which unpacks itself', await oneFile());
    add('the next start of the one file', await several(rounds, oneFile), { atMost: Number((1.5 * next).toFixed(2)) });
    return rows;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function several(rounds: number, measure: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) values.push(await measure());
  return median(values);
}

/** Seconds until the program has generated a text. */
async function firstAnswer(
  command: string,
  args: readonly string[],
  cwd: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<number> {
  const port = await freePort();
  const startedAt = performance.now();
  // A process group of its own, so that npm and everything that it starts can be ended together.
  const child = spawn(command, [...args, '--port', String(port)], {
    cwd,
    env: { ...process.env, ...environment },
    stdio: 'ignore',
    detached: true,
  });
  const ended = once(child, 'exit');
  try {
    while (!(await answers(port))) {
      if (child.exitCode !== null) throw new Error(`${command} ended with code ${child.exitCode}`);
      if (performance.now() - startedAt > timeoutMs) throw new Error(`${command} did not answer in time`);
      await wait(10);
    }
    return (performance.now() - startedAt) / 1000;
  } finally {
    if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    await ended;
  }
}

async function answers(port: number): Promise<boolean> {
  try {
    const body = JSON.stringify({ prompt: 'Once upon a time', max_length: 1 });
    return (await fetch(`http://127.0.0.1:${port}/api/v1/generate`, { method: 'POST', body })).ok;
  } catch {
    return false;
  }
}
