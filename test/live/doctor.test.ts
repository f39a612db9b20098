import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { runProgram } from './program.ts';
import { program, programEnvironment } from './server.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-doctor-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Found {
  readonly section: string;
  readonly name: string;
  readonly status: string;
  readonly detail: string;
  readonly advice?: string;
}

function read(stdout: string) {
  const report = JSON.parse(stdout) as { readonly canServe: boolean; readonly findings: readonly Found[] };
  const statuses = (section: string) =>
    Object.fromEntries(report.findings.filter((one) => one.section === section).map((one) => [one.name, one.status]));
  return { ...report, statuses };
}

/** A copy of the program without its packages, models and weights. */
function copy(): string {
  const home = mkdtempSync(join(folder, 'copy-'));
  cpSync(dirname(program), join(home, 'dist'), { recursive: true });
  cpSync(join(project, 'package.json'), join(home, 'package.json'));
  return home;
}

function examined(home: string) {
  const args = [join(home, 'dist', 'main.js'), 'doctor', '--json'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: programEnvironment(),
  });
  return { status, stderr, ...read(stdout) };
}

/** Links the packages of this repository into a copy, without those that match. */
function linkPackages(home: string, without: RegExp): void {
  const from = join(project, 'node_modules');
  const names = readdirSync(from).flatMap((name) =>
    name.startsWith('@') ? readdirSync(join(from, name)).map((inner) => `${name}/${inner}`) : [name],
  );
  for (const name of names.filter((each) => !each.startsWith('.') && !without.test(each))) {
    const target = join(home, 'node_modules', name);
    mkdirSync(dirname(target), { recursive: true });
    symlinkSync(join(from, name), target, 'junction');
  }
}

describe('parley doctor', () => {
  test('everything that comes with the program works', async () => {
    const { code, stdout, stderr } = await runProgram(['doctor', '--json']);
    expect(stderr).toBe('');
    const { canServe, statuses } = read(stdout);
    expect([code, canServe]).toEqual([0, true]);
    for (const section of ['Program', 'Engines', 'Built-in']) {
      expect(new Set(Object.values(statuses(section)))).toEqual(new Set(['ok']));
    }
  });

  test('a page for people, with a verdict', async () => {
    const { code, stdout } = await runProgram(['doctor']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Program\n {2}ok {7}Version +\d/);
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('Parley can serve.');
  });

  test('a program without packages and models: says so and exits with 1', () => {
    const { status, stderr, canServe, findings, statuses } = examined(copy());
    expect([status, stderr, canServe]).toEqual([1, '', false]);
    expect(new Set(Object.values(statuses('Engines')))).toEqual(new Set(['missing']));
    expect(statuses('Built-in')).toMatchObject({ Text: 'problem', 'Web client': 'ok' });
    expect(findings.filter((one) => one.status !== 'ok' && !one.advice)).toEqual([]);
  });

  test('a damaged library is a problem of its engine alone', () => {
    const home = copy();
    linkPackages(home, /^@node-llama-cpp\/|^sharp$/);
    const from = join(project, 'node_modules', '@node-llama-cpp');
    // npm may install the package of another processor, too.
    const [name = ''] = readdirSync(from).filter((one) => one.includes(`-${process.arch}`));
    const [system = ''] = readdirSync(join(from, name, 'bins'));
    const target = join(home, 'node_modules', '@node-llama-cpp', name);
    mkdirSync(join(target, 'bins', system), { recursive: true });
    writeFileSync(join(target, 'package.json'), readFileSync(join(from, name, 'package.json')));
    for (const file of readdirSync(join(from, name, 'bins', system))) {
      writeFileSync(join(target, 'bins', system, file), 'no library');
    }
    const { status, findings, statuses } = examined(home);
    expect(status).toBe(1);
    expect(statuses('Engines')).toMatchObject({
      Text: 'problem',
      Embeddings: 'problem',
      Images: 'ok',
      'Image files': 'missing',
      Speech: 'ok',
    });
    expect(findings.find((one) => one.name === 'Text')?.detail).toContain('cannot be loaded');
  });
});

test('parley licenses: packages, packages in the pages, and weights', async () => {
  const { code, stdout } = await runProgram(['licenses']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^koffi \d\S+: MIT$/m);
  expect(stdout).toMatch(/^svelte \d\S+: MIT$/m);
  const expected = ['Apache License', 'Svelte Contributors', 'all-MiniLM-L6-v2', 'SIL OPEN FONT LICENSE'];
  expect(expected.filter((text) => !stdout.includes(text))).toEqual([]);
});
