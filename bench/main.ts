import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { agentsBench } from './agents.ts';
import { busyBench } from './busy.ts';
import { cacheBench } from './cache.ts';
import { composerBench } from './composer.ts';
import { type Figures, figuresFile, figureTable, fillFigures, fillSummary, speedPlot } from './document.ts';
import { documentsBench } from './documents.ts';
import { embeddingsBench } from './embeddings.ts';
import { engineBench } from './engine.ts';
import { fairBench } from './fair.ts';
import { gpuBench } from './gpu.ts';
import { imageBench } from './image.ts';
import { installBench } from './install.ts';
import { leaksBench } from './leaks.ts';
import { memoryBench } from './memory.ts';
import type { BenchOptions } from './options.ts';
import { pagesBench } from './pages.ts';
import { predictionBench } from './prediction.ts';
import { recordBench } from './record.ts';
import { remoteBench } from './remote.ts';
import { type Row, table } from './report.ts';
import { roundTripBench } from './round-trip.ts';
import { samplingBench } from './sampling.ts';
import { schedulingBench } from './scheduling.ts';
import { serveBench } from './serve.ts';
import { speechBench } from './speech.ts';
import { startBench } from './start.ts';
import { streamBench } from './stream.ts';
import { swapsBench } from './swaps.ts';
import { talkBench } from './talk.ts';
import { transcriptionBench } from './transcription.ts';
import { voicesBench } from './voices.ts';

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<Row[]>>> = {
  engine: engineBench,
  stream: streamBench,
  start: startBench,
  sampling: samplingBench,
  serve: serveBench,
  scheduling: schedulingBench,
  swaps: swapsBench,
  fair: fairBench,
  busy: busyBench,
  cache: cacheBench,
  agents: agentsBench,
  record: recordBench,
  memory: memoryBench,
  prediction: predictionBench,
  speech: speechBench,
  transcription: transcriptionBench,
  talk: talkBench,
  image: imageBench,
  leaks: leaksBench,
  embeddings: embeddingsBench,
  documents: documentsBench,
  remote: remoteBench,
  gpu: gpuBench,
  pages: pagesBench,
  composer: composerBench,
  install: installBench,
  roundtrip: roundTripBench,
  voices: voicesBench,
};

/** Need a GPU, Chromium, the npm registry or a pack, or take long, so they run only when named. */
const onlyByName = ['agents', 'record', 'busy', 'gpu', 'pages', 'composer', 'install', 'roundtrip', 'voices'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: 'string' },
    quick: { type: 'boolean', default: false },
    threads: { type: 'string' },
    model: { type: 'string' },
    cpubuild: { type: 'string' },
    peer: { type: 'string' },
    'peer-pid': { type: 'string' },
    'peer-command': { type: 'string' },
    ear: { type: 'string', multiple: true, default: [] },
    sounds: { type: 'string' },
    client: { type: 'string' },
    gpu: { type: 'boolean', default: false },
    document: { type: 'boolean', default: false },
  },
});
const names = positionals.length > 0 ? positionals : Object.keys(benches).filter((name) => !onlyByName.includes(name));
const unknown = names.filter((name) => !Object.hasOwn(benches, name));
const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
const [threads, pid] = [values.threads, values['peer-pid']].map(number);
if (process.platform !== 'linux') fail('The benches read processor time and memory from /proc, which only Linux has.');
if (unknown.length > 0) fail(`No such bench: ${unknown.join(', ')}. There are: ${Object.keys(benches).join(', ')}.`);
if (!values.server) fail('--server FILE is missing: the main file of a built server.');
for (const [name, value] of Object.entries({ threads, 'peer-pid': pid })) {
  if (value !== undefined && !(value > 0)) fail(`--${name} must be a number above 0.`);
}

const url = values.peer === 'none' ? undefined : values.peer;
if (url !== undefined && !URL.canParse(url)) fail('--peer must be the address of a server, or none.');
const command = values['peer-command'];
const options = {
  server: values.server,
  quick: values.quick,
  threads,
  model: values.model,
  cpuBuild: values.cpubuild,
  gpu: values.gpu,
  peer: { ...(url && { url }), ...(pid && { pid }), ...(command && { command }) },
  ears: values.ear,
  sounds: values.sounds,
  client: values.client,
  log: (line: string) => console.log(`   ${line}`),
};
const all: Row[] = [];
for (const name of names) {
  console.log(`== ${name}`);
  const load = loadavg()[0] ?? 0;
  const rows = (await benches[name]?.(options).catch((error: Error) => fail(`${name}: ${error.message}`))) ?? [];
  save(name, rows, load);
  if (values.document) document(name, rows, load);
  all.push(...rows);
}
console.log(`\n${table(all)}`);
process.exit(0);

function save(name: string, rows: readonly Row[], load: number): void {
  const machine = { processor: cpus()[0]?.model ?? '', processors: availableParallelism(), node: process.version };
  mkdirSync('bench/results', { recursive: true });
  const text = JSON.stringify({ bench: name, at: new Date().toISOString(), machine, load, rows }, undefined, 2);
  writeFileSync(`bench/results/${name}.json`, `${text}\n`);
}

function document(name: string, rows: readonly Row[], load: number): void {
  const known: Figures = JSON.parse(readFileSync('bench/figures.json', 'utf8'));
  const machine = `${availableParallelism()} processors (${cpus()[0]?.model ?? 'unknown'}), Node ${process.version}`;
  const table = figureTable(rows, {
    title: known[name]?.title ?? name,
    machine: `${machine}; load average ${load.toFixed(1)}`,
    date: new Date().toISOString().slice(0, 10),
    command: commandOf(name),
  });
  const figures = { ...known, [name]: table };
  writeFileSync('bench/figures.json', figuresFile(figures));
  writeFileSync('docs/figures.md', fillFigures(readFileSync('docs/figures.md', 'utf8'), figures));
  writeFileSync('docs/performance.md', fillSummary(readFileSync('docs/performance.md', 'utf8'), figures));
  if (name === 'serve') writeFileSync('docs/performance.svg', speedPlot(table));
}

/** The command that measures the same again; the paths and addresses of this machine are left out. */
function commandOf(name: string): string {
  const peer = command ? [`--peer-command "${basename(command.split(' ')[0] ?? '')} …"`] : url ? ['--peer URL'] : [];
  const flags = [
    ...(values.threads ? [`--threads ${values.threads}`] : []),
    ...(values.cpubuild ? [`--cpubuild ${values.cpubuild}`] : []),
    ...(values.model ? ['--model FILE'] : []),
    ...(values.gpu ? ['--gpu'] : []),
    ...(values.client ? [`--client "${values.client}"`] : []),
    ...(values.quick ? ['--quick'] : []),
  ];
  return ['npm run bench --', name, ...flags, ...peer].join(' ');
}

function fail(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}
