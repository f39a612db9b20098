import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { engineBench } from './engine.ts';
import type { BenchOptions } from './options.ts';
import { type Row, table } from './report.ts';
import { samplingBench } from './sampling.ts';
import { startBench } from './start.ts';
import { streamBench } from './stream.ts';

const benches: Readonly<Record<string, (options: BenchOptions) => Promise<Row[]>>> = {
  engine: engineBench,
  stream: streamBench,
  start: startBench,
  sampling: samplingBench,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { server: { type: 'string' }, quick: { type: 'boolean', default: false }, threads: { type: 'string' } },
});
const names = positionals.length > 0 ? positionals : Object.keys(benches);
const unknown = names.filter((name) => !Object.hasOwn(benches, name));
if (process.platform !== 'linux') fail('The benches read processor time and memory from /proc, which only Linux has.');
if (unknown.length > 0) fail(`No such bench: ${unknown.join(', ')}. There are: ${Object.keys(benches).join(', ')}.`);
if (!values.server) fail('--server FILE is missing: the main file of a built server.');

const { quick } = values;
const server = values.server;
const threads = values.threads === undefined ? undefined : Number(values.threads);
const all: Row[] = [];
for (const name of names) {
  console.log(`== ${name}`);
  const log = (line: string) => console.log(`   ${line}`);
  const rows = (await benches[name]?.({ server, quick, threads, log })) ?? [];
  save(name, rows);
  all.push(...rows);
}
console.log(`\n${table(all)}`);
process.exit(0);

function save(name: string, rows: readonly Row[]): void {
  const machine = { processor: cpus()[0]?.model ?? '', processors: availableParallelism(), node: process.version };
  mkdirSync('bench/results', { recursive: true });
  const text = JSON.stringify({ bench: name, at: new Date().toISOString(), machine, rows }, undefined, 2);
  writeFileSync(`bench/results/${name}.json`, `${text}\n`);
}

function fail(sentence: string): never {
  console.error(sentence);
  process.exit(2);
}
