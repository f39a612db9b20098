import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decoded, loudness, seconds } from '../../src/audio/testing/decoded.ts';
import { curlRequest, inlineCommands, type ShownCommand, shellCommands } from '../docs/commands.ts';
import { embeddedModel, type LiveServer, liveServers, program, programEnvironment } from './server.ts';

// Runs the commands of README.md and of the guide as they are there; only the port is another one.

const root = new URL('../../', import.meta.url);
const readme = ['README.md', 'docs/guide.md'].map((page) => readFileSync(new URL(page, root), 'utf8')).join('\n');
const { scripts, version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  scripts: object;
  version: string;
};

/** Commands that are not run here, and why. */
const notRun: readonly (readonly [command: RegExp, reason: string])[] = [
  [/^git clone <this repository>/, 'has no address'],
  [/^npm start( --)?$/, 'test/live/launcher.test.ts runs it'],
  [/^npm test$/, 'runs this test'],
  [/^npm run (?:release|bench|test:\w+)$/, 'takes many minutes'],
  [/^npm pack$/, 'test/pack.test.ts runs it'],
  [/^npx --package \.\/parley-[\d.]+\.tgz parley$/, 'needs the npm registry; test/pack.test.ts installs that package'],
  [/^chmod \+x parley-[\d.]+-linux-x64 && /, 'needs a release; test/release/one-file.test.ts runs one'],
  [/^parley search WORDS$/, 'asks the hub; src/server/models-command.test.ts runs it with another one'],
  [/^parley run owner\/name$/, 'downloads a model; test/live/modes.test.ts runs it with a registry'],
  [/^parley pack add \w+$/, 'downloads a pack'],
  [/^parley pack build cuda$/, 'needs a card and a compiler; src/server/pack-build.test.ts runs it with fake ones'],
  [/^parley launch claude$/, 'needs the agent; npm run test:agents runs it'],
  [/^parley documents add$/, 'needs a folder; test/live/document-process.test.ts runs it with one'],
  [/^parley --lan$/, 'opens the server to the network; test/live/lan.test.ts and test/web/phone-join.test.ts run it'],
  [/^parley --showgui$/, 'opens a browser; test/live/launcher.test.ts runs it'],
];

const folder = mkdtempSync(join(tmpdir(), 'parley-readme-'));
const before = { home: process.env.PARLEY_HOME, path: process.env.PATH };
const startServer = liveServers();
let server: LiveServer;

beforeAll(async () => {
  process.env.PARLEY_HOME = folder;
  // The command `parley` of the examples, and the model that one of them names.
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  writeFileSync(join(programs, 'parley'), `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
  chmodSync(join(programs, 'parley'), 0o755);
  process.env.PATH = `${programs}${delimiter}${process.env.PATH}`;
  mkdirSync(join(folder, 'models'));
  symlinkSync(embeddedModel, join(folder, 'models', 'some-model.gguf'));
  server = await startServer();
});
afterAll(() => {
  process.env.PATH = before.path;
  if (before.home === undefined) delete process.env.PARLEY_HOME;
  else process.env.PARLEY_HOME = before.home;
  rmSync(folder, { recursive: true, force: true });
});

/** What a command writes; one that fails rejects. */
async function written(command: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    'bash',
    ['-o', 'pipefail', '-c', command.replaceAll('localhost:5001', `localhost:${server.port}`)],
    { cwd: folder, env: programEnvironment(), maxBuffer: 64 * 1024 * 1024 },
  );
  return stdout;
}

/** The JSON that a curl command sends. */
function sent<Body>({ command }: ShownCommand): Body {
  const [, body = ''] = /-d '([^']*)'/.exec(command) ?? [];
  return JSON.parse(body) as Body;
}

/** The names and types of a value, and of all values in it. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shape);
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shape(each)]));
}

const dot = (one: readonly number[], other: readonly number[]): number =>
  one.reduce((sum, entry, index) => sum + entry * (other[index] ?? Number.NaN), 0);

async function pixels(image: string | Uint8Array): Promise<Uint8Array> {
  return sharp(image).removeAlpha().raw().toBuffer();
}

async function speaks({ command }: ShownCommand): Promise<void> {
  await written(command);
  const [, file = ''] = / -o (\S+)$/.exec(command) ?? [];
  const sound = await decoded('mp3', readFileSync(join(folder, file)));
  expect(seconds(sound)).toBeGreaterThan(1);
  expect(loudness(sound)).toBeGreaterThan(0.03);
}

async function writesDownWhatWasSpoken({ command, output }: ShownCommand): Promise<void> {
  const speechCommand = commands.find((each) => curlRequest(each.command)?.path === '/v1/audio/speech');
  expect(speechCommand).toBeDefined();
  const transcript = await written(command);
  expect(transcript.trim()).toBe(sent<{ input: string }>(speechCommand as ShownCommand).input);
  expect(transcript).toBe(output);
}

async function continuesText({ command, output = '' }: ShownCommand): Promise<void> {
  const answer = JSON.parse(await written(command)) as { results: { text: string; finish_reason: string }[] };
  const documented = JSON.parse(output) as typeof answer;
  expect(shape(answer)).toEqual(shape(documented));
  expect(answer.results[0]?.finish_reason).toMatch(/^(?:length|stop)$/);
}

async function chats({ command }: ShownCommand): Promise<void> {
  const { choices } = JSON.parse(await written(command)) as {
    choices: { message: { content: string }; finish_reason: string }[];
  };
  expect(choices[0]?.message.content).toBeTypeOf('string');
  expect(choices[0]?.finish_reason).toMatch(/^(?:length|stop)$/);
}

/** The image that the page shows beneath the command is its result, except for rounding: another seed differs by ten and more. */
async function draws({ command }: ShownCommand): Promise<void> {
  await written(command);
  const [, file = ''] = / > (\S+)$/.exec(command) ?? [];
  const bytes = readFileSync(join(folder, file));
  const { format, width, height } = await sharp(bytes).metadata();
  expect([format, `${width}x${height}`]).toEqual(['png', sent<{ size: string }>({ command }).size]);
  const generated = await pixels(bytes);
  expect(new Set(generated).size, 'different values in the image').toBeGreaterThan(100);
  const behind = readme.slice(readme.indexOf(command) + command.length);
  const [, imageFile = ''] = /^\n```\n\n!\[[^\]]*\]\(([^)]+)\)/.exec(behind) ?? [];
  const expected = await pixels(fileURLToPath(new URL(imageFile, root)));
  const differences = generated.reduce((sum, value, index) => sum + Math.abs(value - (expected[index] as number)), 0);
  expect(differences / generated.length, 'mean difference to the image of the page').toBeLessThan(6);
}

async function embeds({ command }: ShownCommand): Promise<void> {
  const { data } = JSON.parse(await written(command)) as { data: { embedding: number[] }[] };
  const { input } = sent<{ input: string[] }>({ command });
  const [first = [], same = [], other = []] = data.map(({ embedding }) => embedding);
  expect(data.map(({ embedding }) => embedding.length)).toEqual(input.map(() => 384));
  expect(dot(first, same)).toBeGreaterThan(0.5);
  expect(dot(first, other)).toBeLessThan(0.2);
  expect(dot(same, other)).toBeLessThan(0.2);
}

async function sortsDocuments({ command }: ShownCommand): Promise<void> {
  const { results } = JSON.parse(await written(command)) as { results: { index: number }[] };
  const { documents } = sent<{ documents: string[] }>({ command });
  expect(results.map(({ index }) => documents[index])).toEqual([
    documents.find((text) => text.includes('password')),
    documents.find((text) => !text.includes('password')),
  ]);
}

async function servesOwnModel({ command }: ShownCommand): Promise<void> {
  const own = await startServer([], { command: ['bash', '-c', `exec ${command} "$@"`, 'parley'] });
  const answer = await fetch(`${own.base}/api/v1/model`);
  expect(await answer.json()).toEqual({ result: 'koboldcpp/some-model' });
  const context = await fetch(`${own.base}/api/extra/true_max_context_length`);
  expect(await context.json()).toEqual({ value: 8192 });
  expect(await own.stop()).toBe(0);
}

const says =
  (text: RegExp) =>
  async ({ command }: ShownCommand): Promise<void> =>
    expect(await written(command)).toMatch(text);

type Check = (command: ShownCommand) => Promise<void>;

/** By the endpoint that a command asks, or by the whole command. */
const checks = new Map<string, Check>([
  ['POST /api/v1/generate', continuesText],
  ['POST /v1/chat/completions', chats],
  ['POST /v1/audio/speech', speaks],
  ['POST /v1/audio/transcriptions', writesDownWhatWasSpoken],
  ['POST /v1/images/generations', draws],
  ['POST /v1/embeddings', embeds],
  ['POST /v1/rerank', sortsDocuments],
  ['parley --model ~/models/some-model.gguf --contextsize 8192', servesOwnModel],
  ['parley doctor', says(/^Program\n {2}ok +Version +0\./)],
  ['parley list', says(/some-model/)],
  ['parley pack list', says(/^vision +.*to fetch/m)],
  ['parley pack verify', says(/^No packs are installed\.$/m)],
  ['parley pack repair', says(/^No packs are installed\.$/m)],
  ['parley --help', says(/--contextsize[\s\S]*--port/)],
]);

function checkOf(command: string): Check | undefined {
  const request = curlRequest(command);
  return checks.get(request ? `${request.method} ${request.path}` : command);
}

const commands: readonly ShownCommand[] = [
  ...shellCommands(readme),
  ...inlineCommands(readme).map((command) => ({ command })),
];
const isRun = ({ command }: ShownCommand) => !notRun.some(([pattern]) => pattern.test(command));
const run = commands.filter(isRun);

describe('the commands of README.md and the guide', () => {
  test('each is run here, or listed with the reason why not', () => {
    expect(run.filter(({ command }) => checkOf(command) === undefined)).toEqual([]);
    const unused = notRun.filter(([pattern]) => !commands.some(({ command }) => pattern.test(command)));
    expect(unused).toEqual([]);
  });

  test('npm scripts exist, and file names have the present version', () => {
    const names = commands.flatMap(({ command }) => /^npm run (\S+)/.exec(command)?.[1] ?? []);
    expect(names.filter((name) => !(name in scripts))).toEqual([]);
    const versions = commands.flatMap(({ command }) => /parley-(\d+\.\d+\.\d+)/.exec(command)?.[1] ?? []);
    expect(new Set(versions)).toEqual(new Set([version]));
  });

  const missing = ['bash', 'curl', 'sed', 'base64'].filter((name) => spawnSync(name, ['--version']).error);
  test.skipIf(missing.length > 0).each(run)('$command', async (command) => {
    await checkOf(command.command)?.(command);
  });
});
