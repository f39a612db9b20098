#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { type Loaded, loadSettings } from './config/load.ts';
import { configPath } from './config/paths.ts';
import { ownFolder } from './core/data-folder.ts';
import { product } from './core/product.ts';
import { type FirstPage, firstPage, inContainer, ownStreams } from './launcher/first-page.ts';
import { welcome } from './observe/banner.ts';
import { streamOutput, Terminal } from './observe/terminal.ts';
import type { CommandName } from './server/commands.ts';
import { ResultOutput } from './server/result-output.ts';
import { launcherVariable, ShutdownSignals } from './server/shutdown-signals.ts';
import { StartError } from './server/start-error.ts';

// A console that cannot be written to must not end the program; modes whose output is the result check for errors themselves.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const signals = new ShutdownSignals(process, (code) => process.exit(code));
// Child processes must not inherit it.
delete process.env[launcherVariable];

const commandNames: readonly CommandName[] = [
  'list',
  'models',
  'presets',
  'rm',
  'show',
  'search',
  'pull',
  'pack',
  'launch',
  'keys',
  'lan',
  'mcp',
  'documents',
  'engines',
  'doctor',
  'licenses',
];

/** Tells why the program cannot start. An object in a log of objects. */
let fail = (sentence: string): void => console.error(sentence);

void main(process.argv.slice(2)).catch((error: unknown) => {
  fail(error instanceof Error ? error.message : String(error));
  process.exit(error instanceof StartError ? error.exitCode : 1);
});

/** Reads the command line and chooses a mode. */
async function main(args: readonly string[]): Promise<void> {
  const [command = '', ...rest] = args;
  const runs = command === 'run';
  const name = commandNames.find((one) => one === command);
  const output = new ResultOutput(process.stdout);
  if (name) {
    const { runCommand } = await import('./server/commands.ts');
    const code = await runCommand(name, { args: rest, signals, output });
    process.exitCode = code || (await output.finish(console.error));
    return;
  }
  const loaded = loadSettings({
    arguments: runs ? rest : args,
    runs,
    environment: process.env,
    readFile: (path) => readFileSync(configPath(path, ownFolder('config'), existsSync), 'utf8'),
    exists: existsSync,
  });
  if (loaded.settings.logformat === 'json') {
    const { failAsJson } = await import('./observe/json-log.ts');
    fail = failAsJson(process.stderr);
  }
  const opens = pageOf(args, loaded, runs);
  if (opens === 'launcher') return launcher(loaded);
  if (loaded.type === 'refused') {
    for (const line of [...loaded.notes, ...loaded.problems.map(({ sentence }) => sentence)]) fail(line);
    process.exit(loaded.exitCode);
  }
  const { help, version, analyze, exportconfig, exporttemplate } = loaded.settings;
  if (help || version || analyze || exportconfig || exporttemplate) {
    const { inform } = await import('./server/info-modes.ts');
    await inform(loaded.settings, product);
    process.exitCode = await output.finish(console.error);
    return;
  }
  const { runModel } = await import('./server/model-modes.ts');
  await runModel(loaded, { product, signals, output, opensPage: opens === 'web client', answers: runs });
}

/** What opens in the browser. */
function pageOf(args: readonly string[], loaded: Loaded, runs: boolean): FirstPage {
  const { showgui, skiplauncher, help, version } = loaded.settings;
  if (help || version) return 'none';
  const { env: environment, platform, pid, ppid } = process;
  return firstPage({
    showgui,
    skiplauncher,
    isConfigured: !runs && (args.length > 0 || (loaded.type !== 'refused' && loaded.given.size > 0)),
    environment,
    platform,
    streams: ownStreams(environment),
    container: inContainer(environment),
    pids: [pid, ppid],
    parentName: () => programName(ppid),
  });
}

/** On Windows. */
function programName(pid: number): string {
  const { stdout = '' } = spawnSync('tasklist', ['/FI', `PID eq ${pid}`, '/FO', 'CSV', '/NH'], { encoding: 'utf8' });
  return /^"([^"]+)"/.exec(stdout.trim())?.[1] ?? '';
}

/** Problems with the flags are shown in the launcher, where they can be corrected. */
async function launcher(loaded: Loaded): Promise<void> {
  const refused = loaded.type === 'refused';
  const settings = refused ? loaded.settings : (loaded.beforeRules ?? loaded.settings);
  const problems = refused ? loaded.problems.map(({ sentence }) => sentence) : [];
  const terminal = new Terminal(streamOutput(process.stdout, { moving: true }));
  terminal.line(welcome(product.version));
  const { launcher: open } = await import('./server/launcher.ts');
  const exit = (code: number): void => process.exit(code);
  await open({ product, settings, notes: [...problems, ...loaded.notes], terminal, signals, exit });
}
