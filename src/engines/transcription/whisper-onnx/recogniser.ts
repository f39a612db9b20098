import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { languageCodes } from '../../../core/languages.ts';
import type { Segment } from '../../../core/transcription.ts';
import type { TranscriptionTask } from '../host.ts';
import { delayed, type Recogniser, sentences, soundRate, type Transcript } from '../recogniser.ts';
import { joinWords, timeWords, tokenTimes } from './align.ts';
import { type DecoderState, decodeWindow } from './decode.ts';
import { hop, logMel } from './mel.ts';
import { WhisperNetwork, type WhisperWindow } from './network.ts';
import { logProbability, splitSegments, type TokenRoles } from './rules.ts';
import { WhisperTokenizer } from './tokenizer.ts';

/** Audio cut off at the end of a window is recognised again if it is longer than this many seconds. */
const minRest = 1;
/** A window whose text is improbable, too, has no speech. */
const maxNoSpeech = 0.6;
const minLogprob = -1;
/** Half of the context of the decoder, less one. */
const maxPromptTokens = 223;

interface Loaded {
  readonly network: WhisperNetwork;
  readonly tokenizer: WhisperTokenizer;
  readonly roles: TokenRoles;
  /** Tokens of languages by code. */
  readonly languages: ReadonlyMap<string, number>;
}

/** Recogniser with a multilingual Whisper in ONNX form: many languages, translation, word timestamps. */
export async function openWhisperOnnx(
  folder: string,
  { name, threads }: { readonly name: string; readonly threads: number },
): Promise<Recogniser> {
  const loaded = await load(folder, threads);
  return {
    facts: { name, languages: languageCodes.filter((code) => loaded.languages.has(code)), translates: true },
    maxChunkSeconds: 29,
    timeoutMs: () => 5 * 60_000,
    notes: () => [],
    recognise: (samples, task, signal) => recognise(samples, task, { ...loaded, signal }),
    close: () => loaded.network.close(),
  };
}

/** Reads the folder of a model for Transformers. */
async function load(folder: string, threads: number): Promise<Loaded> {
  const json = async (file: string) => JSON.parse(await readFile(join(folder, file), 'utf8'));
  const [vocabulary, added, config, generation, merges] = await Promise.all([
    json('vocab.json'),
    json('added_tokens.json'),
    json('config.json'),
    json('generation_config.json'),
    readFile(join(folder, 'merges.txt'), 'utf8'),
  ]);
  const tokenizer = new WhisperTokenizer({ vocabulary, added, merges });
  const network = await WhisperNetwork.open(
    {
      encoder: join(folder, 'onnx/encoder_model_quantized.onnx'),
      decoder: join(folder, 'onnx/decoder_model_merged_quantized.onnx'),
    },
    {
      layers: config.decoder_layers,
      heads: config.decoder_attention_heads,
      width: config.d_model / config.decoder_attention_heads,
      alignmentHeads: generation.alignment_heads,
    },
    threads,
  );
  const noTimestamps = tokenizer.special('notimestamps');
  const roles = {
    end: config.eos_token_id,
    noTimestamps,
    timestamps: noTimestamps + 1,
    suppressed: [...config.suppress_tokens, ...Object.values<number>(generation.lang_to_id)],
    suppressedFirst: config.begin_suppress_tokens,
  };
  const languages = Object.entries<number>(generation.lang_to_id).map(
    ([token, id]) => [token.slice(2, -2), id] as const,
  );
  return { network, tokenizer, roles, languages: new Map(languages) };
}

type Recognition = Loaded & { readonly signal: AbortSignal };

async function recognise(samples: Float32Array, task: TranscriptionTask, deps: Recognition): Promise<Transcript> {
  const segments: Segment[] = [];
  let language = task.language;
  for (let from = 0; from < samples.length; ) {
    const result = await recogniseWindow(samples.subarray(from), { ...task, language }, deps);
    language ??= result.language;
    const offset = from / soundRate;
    segments.push(...result.segments.map((segment) => delayed(segment, offset)));
    const rest = samples.length / soundRate - offset - result.seconds;
    if (rest < minRest || result.seconds < minRest) break;
    from += Math.round(result.seconds * soundRate);
  }
  return { text: segments.map(({ text }) => text).join(''), language: language ?? 'en', segments };
}

/** `seconds`: how much of the window was recognised. */
async function recogniseWindow(samples: Float32Array, task: TranscriptionTask, deps: Recognition) {
  const { network, tokenizer, roles, signal } = deps;
  const seconds = samples.length / soundRate;
  const window = await network.window(logMel(samples), signal);
  try {
    const { state, language, silence, taskTokens } = await begin(window, task, deps);
    try {
      const decoded = await decodeWindow(window, state, {
        roles,
        temperature: task.temperature,
        random: seeded(1),
        textOf: (tokens) => tokenizer.decode(tokens),
        signal,
      });
      if (silence > maxNoSpeech && decoded.averageLogprob < minLogprob) return { language, seconds, segments: [] };
      const { segments, decodedSeconds } = splitSegments(decoded.tokens, seconds, roles);
      const texts = segments.map(({ tokens, ...times }) => ({
        ...times,
        text: tokenizer.decode(tokens),
        tokens,
        averageLogprob: decoded.averageLogprob,
        noSpeechProbability: silence,
      }));
      const spoken = texts.filter(({ text }) => text.trim() !== '');
      if (!task.words) return { language, seconds: decodedSeconds, segments: spoken };
      const tokens = spoken.flatMap((segment) => segment.tokens);
      const words = await timed(window, { tokens, taskTokens, language, seconds }, deps);
      return { language, seconds: decodedSeconds, segments: sentences(words) };
    } finally {
      state.release();
    }
  } finally {
    window.close();
  }
}

/** The state after start, language and task. The language, unless it is known, and the probability of silence follow from the start. */
async function begin(window: WhisperWindow, task: TranscriptionTask, { tokenizer, languages, signal }: Recognition) {
  const start = tokenizer.special('startoftranscript');
  let state = await window.begin([start], signal);
  try {
    const logits = state.logits();
    const silence = Math.exp(logProbability(logits, tokenizer.special('nocaptions')));
    const chance = ([, token]: readonly [string, number]): number => logits[token] as number;
    const likeliest = [...languages].reduce((best, each) => (chance(each) > chance(best) ? each : best));
    const [language, token] = [...languages].find(([code]) => code === task.language) ?? likeliest;
    const taskTokens = [start, token, tokenizer.special(task.translate ? 'translate' : 'transcribe')];
    const prompt = task.prompt.trim() === '' ? [] : tokenizer.encode(` ${task.prompt.trim()}`).slice(-maxPromptTokens);
    const replace = (next: DecoderState): void => {
      state.release();
      state = next;
    };
    if (prompt.length > 0) {
      replace(await window.begin([tokenizer.special('startofprev'), ...prompt, ...taskTokens], signal));
    } else {
      for (const each of taskTokens.slice(1)) replace(await window.next(state, each, signal));
    }
    return { state, language, silence, taskTokens };
  } catch (error) {
    state.release();
    throw error;
  }
}

interface DecodedText {
  readonly tokens: readonly number[];
  /** Start, language and task. */
  readonly taskTokens: readonly number[];
  readonly language: string;
  readonly seconds: number;
}

async function timed(window: WhisperWindow, { tokens, taskTokens, language, seconds }: DecodedText, deps: Recognition) {
  const { roles, tokenizer, signal } = deps;
  if (tokens.length === 0) return [];
  const sequence = [...taskTokens, roles.noTimestamps, ...tokens, roles.end];
  const columns = Math.max(1, Math.min(1500, Math.ceil((seconds * soundRate) / hop / 2)));
  const heads = await window.attention(sequence, columns, signal);
  const words = joinWords(
    tokens.map((token) => tokenizer.bytesOf(token)),
    language,
  );
  return timeWords(words, tokenTimes(heads, taskTokens.length));
}

/** The same sound always gives the same text. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
