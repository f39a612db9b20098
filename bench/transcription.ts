import { wavFile } from '../src/audio/testing/waves.ts';
import { ChunkCutter } from '../src/engines/transcription/cut.ts';
import { type Recogniser, soundRate } from '../src/engines/transcription/recogniser.ts';
import { openMoonshine } from '../src/engines/transcription/sherpa.ts';
import { findWhisperPack, type WhisperPack, whisperPacks } from '../src/engines/transcription/whisper-onnx/pack.ts';
import { openWhisperOnnx } from '../src/engines/transcription/whisper-onnx/recogniser.ts';
import { VoiceActivity } from '../src/engines/transcription/worker/voice-activity.ts';
import type { BenchOptions } from './options.ts';
import { childrenOf, cpuMicroseconds, residentMegabytes } from './process-figures.ts';
import type { Row } from './report.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { talk } from './spoken.ts';
import { median } from './statistics.ts';

const task = {
  language: 'en',
  translate: false,
  prompt: '',
  temperature: 0,
  words: false,
  suppressNonSpeech: false,
} as const;

interface Cost {
  /** Of the clock. */
  readonly seconds: number;
  readonly processorSeconds: number;
}

/**
 * Speech to text by the server, beside the bare recogniser that is given the same pieces: what decoding, finding the speech,
 * messages and HTTP add. Processor time is compared, since wall time depends more on other users of the machine.
 */
export async function transcriptionBench(options: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name } of [{ name: 'moonshine' }, ...whisperPacks.filter(isInstalled)]) {
    rows.push(...(await measure(name, options)));
  }
  return rows;
}

/** With models of packs, if they are installed. */
function isInstalled(model: WhisperPack): boolean {
  try {
    return findWhisperPack(model) !== '';
  } catch {
    return false;
  }
}

async function openRecogniser(name: string, threads: number): Promise<Recogniser> {
  const model = whisperPacks.find((each) => each.name === name);
  return model ? openWhisperOnnx(findWhisperPack(model), { name, threads }) : openMoonshine(threads);
}

async function measure(name: string, { server, quick, threads = 2, log }: BenchOptions): Promise<Row[]> {
  const minutes = quick ? 1 : 2;
  const running = await startServer(server, { flags: ['--threads', String(threads), '--whispermodel', name] });
  try {
    const recogniser = await openRecogniser(name, threads);
    const sound = await talk(minutes * 60);
    const length = sound.length / soundRate;
    const file = wavFile([sound], soundRate);
    const pieces = await chunks(sound, recogniser);
    // Loads what it needs.
    await ask(running, file);
    await recognised(recogniser, pieces);
    const listener = childrenOf(running.pid).at(-1) ?? running.pid;
    const [own, bare]: [Cost[], Cost[]] = [[], []];
    for (let round = 0; round < (quick ? 1 : 3); round++) {
      own.push(await cost([running.pid, listener], () => ask(running, file)));
      bare.push(await cost([process.pid], () => recognised(recogniser, pieces)));
      log(
        `${name}: `.concat(
          [own, bare].map((costs) => `${costs.at(-1)?.processorSeconds.toFixed(2)} s`).join(', the bare recogniser '),
        ),
      );
    }
    const share = (costs: readonly Cost[], of: keyof Cost): number => median(costs.map((each) => each[of])) / length;
    const row = (what: string, of: keyof Cost): Row => {
      const [value, peer] = [share(own, of), share(bare, of)];
      return {
        bench: 'transcription',
        what: `${name}, ${what}`,
        value,
        unit: '',
        peer: { value: peer, ratio: value / peer },
      };
    };
    return [
      {
        ...row(`processor time ÷ length of the sound (${minutes} min)`, 'processorSeconds'),
        ratioGoal: { atMost: 1.5 },
      },
      { bench: 'transcription', what: `${name}, first text of a sentence`, value: await firstText(running), unit: 's' },
      row(`time ÷ length of the sound, ${threads} threads`, 'seconds'),
      {
        bench: 'transcription',
        what: `${name}, memory of the engine after that`,
        value: residentMegabytes(listener),
        unit: 'MB',
      },
    ];
  } finally {
    await running.stop();
  }
}

/** From the request to the first delta of a stream. */
async function firstText({ port }: ServerProcess): Promise<number> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(wavFile([await talk(1)], soundRate))]), 'sentence.wav');
  form.append('stream', 'true');
  const startedAt = performance.now();
  const reply = await fetch(`http://127.0.0.1:${port}/v1/audio/transcriptions`, { method: 'POST', body: form });
  const decoder = new TextDecoder();
  let read = '';
  for await (const piece of reply.body ?? []) {
    read += decoder.decode(piece, { stream: true });
    if (read.includes('transcript.text.delta')) return (performance.now() - startedAt) / 1000;
  }
  throw new Error(`the server answered ${JSON.stringify(read)}`);
}

async function cost(processes: readonly number[], work: () => Promise<void>): Promise<Cost> {
  const spent = () => processes.reduce((sum, pid) => sum + cpuMicroseconds(pid), 0) / 1e6;
  const [startedAt, before] = [performance.now(), spent()];
  await work();
  return { seconds: (performance.now() - startedAt) / 1000, processorSeconds: spent() - before };
}

async function chunks(sound: Float32Array, { maxChunkSeconds }: Recogniser): Promise<readonly Float32Array[]> {
  const voice = await VoiceActivity.open();
  const cutter = new ChunkCutter({
    maxLength: maxChunkSeconds * soundRate,
    maxPause: 2 * soundRate,
    margin: 0.4 * soundRate,
    quietest: (_, to) => to,
  });
  const cuts = [];
  const watch = { here: <Result>(_: number, work: () => Result): Result => work() };
  for await (const { spans } of voice.listen([sound], { signal: new AbortController().signal, watch })) {
    for (const span of spans) cuts.push(...cutter.add(span));
  }
  cuts.push(...cutter.end(sound.length));
  return cuts.map(({ start, end }) => sound.slice(start, end));
}

async function recognised(recogniser: Recogniser, pieces: readonly Float32Array[]): Promise<void> {
  for (const piece of pieces) await recogniser.recognise(piece, task, new AbortController().signal);
}

async function ask({ port }: ServerProcess, file: Buffer): Promise<void> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(file)]), 'talk.wav');
  const reply = await fetch(`http://127.0.0.1:${port}/v1/audio/transcriptions`, { method: 'POST', body: form });
  const { text } = (await reply.json()) as { text?: string };
  if (!text?.includes('meeting')) throw new Error(`the server heard ${JSON.stringify(text)}`);
}
