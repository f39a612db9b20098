import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { widenModel } from '../src/engines/onnx/model-file.ts';
import { OnnxSession } from '../src/engines/onnx/session.ts';
import { findVoicesPack, kokoroParts, partName } from '../src/engines/speech/kokoro/pack.ts';
import { openEspeak, phonemesOf, tokensOf } from '../src/engines/speech/kokoro/phonemes.ts';
import { StyleTables, styleLength } from '../src/engines/speech/kokoro/voices.ts';
import { sentencesOf } from '../src/engines/speech/sentences.ts';
import { type BenchOptions, defaultThreads } from './options.ts';
import { childrenOf, cpuMicroseconds, residentMegabytes } from './process-figures.ts';
import type { Row } from './report.ts';
import { startServer } from './server-process.ts';
import { median } from './statistics.ts';

const voice = 'af_heart';
const rate = 24_000;
const text =
  'The weather was lovely when we set out along the river, but nobody had told us about the bridge. It had been closed for a week. ';

interface Spoken {
  readonly firstMs: number;
  readonly totalMs: number;
  readonly processorMs: number;
  /** Of sound. */
  readonly seconds: number;
}

/**
 * Kokoro of the pack `voices` by the server, beside a bare run: the same model in one ONNX session of this process, sentence by
 * sentence, without worker, format and HTTP. A bare run keeps the silence around each sentence, which the server cuts off.
 */
export async function voicesBench({ server, quick, threads = defaultThreads(), log }: BenchOptions): Promise<Row[]> {
  const rounds = quick ? 1 : 3;
  const bare = await openBare(threads);
  const flags = ['--nomodel', '--ttsmodel', 'kokoro', '--ttsthreads', String(threads)];
  const { port, pid, stop } = await startServer(server, { flags });
  try {
    await overHttp(port, [pid], 'Hello.');
    const worker = childrenOf(pid).at(-1) ?? pid;
    const runs = { server: [] as Spoken[], bare: [] as Spoken[] };
    for (let round = 0; round < rounds; round += 1) {
      runs.server.push(await overHttp(port, [pid, worker], text));
      runs.bare.push(await bare(text));
      log([runs.server, runs.bare].map((all) => timings(all.at(-1))).join(', bare: '));
    }
    const row = (what: string, unit: string, of: (spoken: Spoken) => number): Row => {
      const [value, peer] = [runs.server, runs.bare].map((all) => median(all.map(of))) as [number, number];
      return { bench: 'voices', what, value, unit, peer: { value: peer, ratio: value / peer } };
    };
    return [
      row(`kokoro: first sound, ${threads} threads (peer: the session alone)`, 'ms', ({ firstMs }) => firstMs),
      row('kokoro: time ÷ length of the sound', '', ({ totalMs, seconds }) => totalMs / 1000 / seconds),
      row('kokoro: processor time for the text', 'ms', ({ processorMs }) => processorMs),
      {
        bench: 'voices',
        what: 'kokoro: memory of the engine after that',
        value: residentMegabytes(worker),
        unit: 'MB',
      },
    ];
  } finally {
    await stop();
  }
}

function timings(spoken: Spoken | undefined): string {
  if (!spoken) return '';
  const { firstMs, totalMs, processorMs, seconds } = spoken;
  return `${seconds.toFixed(1)} s of sound, first after ${firstMs.toFixed(0)} ms, all ${totalMs.toFixed(0)} ms, processor ${processorMs.toFixed(0)} ms`;
}

async function openBare(threads: number): Promise<(input: string) => Promise<Spoken>> {
  const { model, voices, espeak } = findVoicesPack();
  const parts = Array.from({ length: kokoroParts }, (_, index) => readFileSync(join(model, partName(index))));
  const session = await OnnxSession.open(widenModel(Buffer.concat(parts)), { threads });
  const pronounce = await openEspeak(espeak);
  const styles = new StyleTables(voices);
  return async (input) => {
    const [begunAt, before] = [performance.now(), cpuMicroseconds(process.pid)];
    let firstMs = 0;
    let samples = 0;
    for (const sentence of sentencesOf(input, 240)) {
      const tokens = tokensOf(phonemesOf(sentence, 'en-us', (clause) => pronounce(clause, 'en-us')));
      const ids = BigInt64Array.from([0, ...tokens, 0], BigInt);
      const style = await styles.style([{ name: voice, weight: 1 }], tokens.length);
      const { waveform } = await session.run({
        input_ids: { data: ids, shape: [1, ids.length] },
        style: { data: style, shape: [1, styleLength] },
        speed: { data: Float32Array.of(1), shape: [1] },
      });
      if (firstMs === 0) firstMs = performance.now() - begunAt;
      samples += waveform?.data.length ?? 0;
    }
    const processorMs = (cpuMicroseconds(process.pid) - before) / 1000;
    return { firstMs, totalMs: performance.now() - begunAt, processorMs, seconds: samples / rate };
  };
}

async function overHttp(port: number, processes: readonly number[], input: string): Promise<Spoken> {
  const spent = () => processes.reduce((sum, one) => sum + cpuMicroseconds(one), 0) / 1000;
  const [begunAt, before] = [performance.now(), spent()];
  const body = JSON.stringify({ input, voice, response_format: 'pcm' });
  const reply = await fetch(`http://127.0.0.1:${port}/v1/audio/speech`, { method: 'POST', body });
  if (!reply.ok || !reply.body) throw new Error(`the server answered ${reply.status}`);
  let firstMs = 0;
  let bytes = 0;
  for await (const piece of reply.body) {
    if (firstMs === 0) firstMs = performance.now() - begunAt;
    bytes += (piece as Uint8Array).length;
  }
  return { firstMs, totalMs: performance.now() - begunAt, processorMs: spent() - before, seconds: bytes / 2 / rate };
}
