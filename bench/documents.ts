import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemTimer } from '../src/core/timers.ts';
import { defaultWeights } from '../src/documents/search/fusion.ts';
import { CollectionDatabase } from '../src/documents/storage/collection-database.ts';
import { StoreHost } from '../src/documents/store-host.ts';
import { byteVector } from '../src/documents/vectors/vector-index.ts';
import { spawnChild } from '../src/engines/host/child.ts';
import type { BenchOptions } from './options.ts';
import { cpuMicroseconds, residentMegabytes } from './process-figures.ts';
import type { Row } from './report.ts';
import { seededRandom } from './seeded-random.ts';
import { median, percentile } from './statistics.ts';

const dimensions = 384;
const wordsInPassage = 120;
const vocabulary = 50_000;
const sliceSize = 1000;
const id = 'vs_bench';

/** A collection of random passages, whose words are as frequent as those of a language: time and memory of a search, without the embedding. */
export async function documentsBench({ server: entry, quick, log }: BenchOptions): Promise<Row[]> {
  const passages = quick ? 10_000 : 100_000;
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const random = seededRandom(1);
  /** Zipf: the first word is in nearly every passage. */
  const word = () => `w${Math.floor(vocabulary ** random())}`;
  const vector = () => Float32Array.from({ length: dimensions }, () => random() - 0.5);
  const store = new StoreHost({
    folder,
    entry: join(dirname(entry), 'documents/worker/main.js'),
    spawn: spawnChild,
    startTimer: systemTimer,
    warn: log,
  });
  try {
    const fillSeconds = fill(join(folder, 'common'), { passages, word, vector });
    log(`${passages} passages were written in ${fillSeconds.toFixed(1)} s.`);
    const rules = { filter: undefined, weights: defaultWeights, limit: 30 };
    const search = async (query: string): Promise<number> => {
      const startedAt = performance.now();
      await store.callWith({ vectors: [vector()] }, 'search', 'common', [id], [query], rules);
      return performance.now() - startedAt;
    };
    await store.call('totals');
    const first = await search('w1 w2 w300');
    const rounds = quick ? 10 : 40;
    const times: number[] = [];
    const cpuBefore = cpuMicroseconds(store.pid ?? 0);
    // Four words of any frequency, and two of the most frequent.
    for (let round = 0; round < rounds; round += 1)
      times.push(await search(`w1 w2 ${word()} ${word()} ${word()} ${word()}`));
    log(`searches: ${times.map((time) => time.toFixed(0)).join(', ')} ms`);
    const cpu = (cpuMicroseconds(store.pid ?? 0) - cpuBefore) / 1000 / rounds;
    const memory = residentMegabytes(store.pid ?? 0);
    const whole = passages === 100_000;
    const row = (what: string, value: number, unit: string, goal?: Row['goal']): Row => ({
      bench: 'documents',
      what,
      value,
      unit,
      ...(goal && whole && { goal }),
    });
    const of = `${passages.toLocaleString('en')} passages`;
    return [
      row(`search in ${of}, without the embedding, median`, median(times), 'ms', { atMost: 50 }),
      row(`search in ${of}, without the embedding, 95 %`, percentile(times, 0.95), 'ms'),
      row('processor time of a search', cpu, 'ms'),
      row('first search, which reads the vectors from the disk', first, 'ms'),
      row('memory of the process', memory, 'MB', { atMost: 300 }),
      row('storing passages with keywords and vectors', passages / fillSeconds, 'passages/s'),
    ];
  } finally {
    await store.stop();
    rmSync(folder, { recursive: true });
  }
}

interface Content {
  readonly passages: number;
  readonly word: () => string;
  readonly vector: () => Float32Array;
}

/** Written in this process. Returns the seconds that storing took. */
function fill(folder: string, { passages, word, vector }: Content): number {
  mkdirSync(folder, { mode: 0o700 });
  const facts = { id, name: 'bench', description: '', metadata: {}, createdAt: 1, lastActiveAt: Date.now() / 1000 };
  const database = CollectionDatabase.create(join(folder, `${id}.collection`), {
    ...facts,
    embedding: 'bench',
    dimensions,
  });
  let milliseconds = 0;
  const timed = (work: () => void): void => {
    const startedAt = performance.now();
    work();
    milliseconds += performance.now() - startedAt;
  };
  for (let from = 0; from < passages; from += sliceSize) {
    const name = `${from}.txt`;
    const texts = Array.from({ length: sliceSize }, () => Array.from({ length: wordsInPassage }, word).join(' '));
    const vectors = texts.map((_, index) => ({ id: from + index + 1, vector: byteVector(vector()) }));
    let start = 0;
    const spans = texts.map(({ length }) => {
      const span = { start, end: start + length, headings: [] };
      start = span.end + 1;
      return span;
    });
    const content = texts.join('\n');
    timed(() => {
      const file = { id: name, name, source: name, bytes: content.length, modified: 1, createdAt: 1 };
      const { key } = database.addFile(file);
      for (const _ of database.writeText(key, content));
      for (const _ of database.writePassages(key, name, spans, (span) => content.slice(span.start, span.end)));
      const own = { hash: name, title: name, bytes: content.length, modified: 1, passages: sliceSize };
      database.finishText(key, own, true);
      database.setVectors(vectors);
    });
  }
  database.close();
  return milliseconds / 1000;
}
