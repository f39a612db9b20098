import { endOfTags, flacRate, flacSamples, mpegFrame } from '../../audio/format.ts';
import type { RemoteAddress } from '../../config/remote.ts';
import { AppError } from '../../core/errors.ts';
import { languageCode, languageCodes } from '../../core/languages.ts';
import type { SentFields } from '../../core/sent-fields.ts';
import type { SpeechEngine, SpeechEvent, SpeechFacts, SpeechFormat, SpeechRequest, Voice } from '../../core/speech.ts';
import type {
  Segment,
  TimedWord,
  TranscriptionEngine,
  TranscriptionEvent,
  TranscriptionRequest,
} from '../../core/transcription.ts';
import { identifyByModels } from './backend.ts';
import { onBackend, RemoteTaskEngine } from './backend-pool.ts';
import type { BackendConnection } from './connection.ts';
import { RemoteFailure } from './failure.ts';
import { listAt, numberAt, objectAt, textAt } from './json.ts';
import { passedFields, withPassed } from './passed-fields.ts';

interface AudioDeps {
  readonly name: string;
  readonly model: string | undefined;
}

const speechBytes = 256 * 2 ** 20;
const voicesMs = 4000;
/** Voices of OpenAI, which most servers know, where the backend lists none. */
export const commonVoices: readonly Voice[] = 'alloy ash coral echo fable nova onyx sage shimmer'
  .split(' ')
  .map((name) => ({ name, language: '', description: '' }));

/** Speech by `POST /v1/audio/speech` of remote backends. */
export class RemoteSpeech extends RemoteTaskEngine<AudioDeps> implements SpeechEngine {
  #voices: readonly Voice[] | undefined;

  facts(): SpeechFacts {
    return { name: this.deps.name, voices: this.#voices ?? commonVoices };
  }

  /** Those that the backend lists, once it runs. */
  async voices(): Promise<readonly Voice[]> {
    const [backend] = this.pool.serving(this.deps.model);
    if (!this.#voices && backend?.isOpen()) this.#voices = await listedVoices(backend.connection);
    return this.facts().voices;
  }

  async *speak(request: SpeechRequest, signal: AbortSignal, sent?: SentFields): AsyncGenerator<SpeechEvent> {
    const { text, voice, speed, language, instruction, format, seed } = request;
    const options = { model: this.deps.model, affinity: voice, signal };
    const { bytes, host } = await onBackend(this.pool, options, async ({ backend, model: { id } }) => {
      const { connection, address } = backend;
      const own = {
        ...(instruction ? { instructions: instruction } : {}),
        ...(language ? { language } : {}),
        ...(seed > 0 ? { seed } : {}),
      };
      const body = withPassed(
        { model: id, input: text, voice, speed, response_format: format, ...own },
        sent,
        address.pass,
      );
      const limits = { method: 'POST', body, signal, bytes: speechBytes } as const;
      return { bytes: await connection.bytes('/v1/audio/speech', limits), host: address.host };
    });
    if (!isSound(bytes, format))
      throw new AppError('remote-answer', { backend: host, reason: `it is no sound in the format ${format}` });
    yield { type: 'start', notes: [] };
    yield { type: 'audio', bytes };
    yield { type: 'finish', seconds: soundSeconds(bytes, format) };
  }
}

async function listedVoices(connection: BackendConnection): Promise<readonly Voice[] | undefined> {
  const answer = await connection
    .json('GET', '/v1/audio/voices', undefined, { milliseconds: voicesMs })
    .catch(() => undefined);
  const list = listAt(objectAt(answer).voices ?? objectAt(answer).data ?? answer);
  const names = list.flatMap((one) => textAt(one) ?? textAt(objectAt(one).id) ?? textAt(objectAt(one).name) ?? []);
  return names.length > 0 ? names.map((name) => ({ name, language: '', description: '' })) : undefined;
}

/** The first bytes of each format. PCM has no header: only HTML and JSON can be distinguished from it. */
const beginnings: Readonly<Record<SpeechFormat, RegExp>> = {
  wav: /^RIFF/,
  flac: /^fLaC/,
  opus: /^OggS/,
  mp3: /^(?:ID3|\xff[\xe0-\xff])/,
  pcm: /^[^{<[]/,
};

function isSound(bytes: Buffer, format: SpeechFormat): boolean {
  return bytes.length >= 4 && beginnings[format].test(bytes.toString('latin1', 0, 4));
}

/** From the headers of the file; of MP3 by the bit rate of its first frame. */
export function soundSeconds(bytes: Buffer, format: SpeechFormat): number {
  if (format === 'pcm') return bytes.length / 48_000;
  if (format === 'wav') return bytes.length < 44 ? 0 : (bytes.length - 44) / Math.max(1, bytes.readUInt32LE(28));
  if (format === 'flac') return flacSamples(bytes) / (flacRate(bytes) || Number.POSITIVE_INFINITY);
  if (format === 'opus') {
    const page = bytes.lastIndexOf('OggS');
    return page === -1 || page + 14 > bytes.length ? 0 : Number(bytes.readBigUInt64LE(page + 6)) / 48_000;
  }
  const start = endOfTags(bytes);
  const { bitrate = Number.POSITIVE_INFINITY } = mpegFrame(bytes, start) ?? {};
  return ((bytes.length - start) * 8) / (bitrate * 1000);
}

/** Transcription by `POST /v1/audio/transcriptions` of remote backends. */
export class RemoteTranscription extends RemoteTaskEngine<AudioDeps> implements TranscriptionEngine {
  facts() {
    return { name: this.deps.name, languages: languageCodes, translates: true };
  }

  async *transcribe(
    request: TranscriptionRequest,
    signal: AbortSignal,
    sent?: SentFields,
  ): AsyncGenerator<TranscriptionEvent> {
    const { language, words, translate } = request;
    const options = { model: this.deps.model, affinity: '', signal };
    const answer = await onBackend(this.pool, options, ({ backend: { connection, address }, model: { id } }) =>
      transcribed(connection, request, id, { signal, sent, pass: address.pass }),
    );
    const { text, duration, language: detectedLanguage, segments: listed, words: timed } = objectAt(answer);
    if (textAt(text) === undefined && !Array.isArray(listed))
      throw new AppError('remote-answer', { backend: this.deps.name, reason: 'it has no text' });
    const segments = listAt(listed).map((one) => segmentOf(objectAt(one)));
    const seconds = numberAt(duration) ?? segments.at(-1)?.end ?? 0;
    yield { type: 'start', seconds };
    const whole: Segment = { start: 0, end: seconds, text: textAt(text) ?? '' };
    const all = segments.length > 0 ? segments : whole.text.trim() === '' ? [] : [whole];
    const outer = words ? listAt(timed).map((one) => wordOf(objectAt(one))) : [];
    for (const segment of all) {
      const own = segment.words ?? outer.filter(({ start }) => start >= segment.start && start < segment.end);
      yield { type: 'segment', segment: words ? { ...segment, words: own } : withoutWords(segment) };
    }
    const code = translate ? 'en' : (languageCode(textAt(detectedLanguage) ?? '') ?? language ?? 'en');
    const notes =
      words && all.some((one) => !one.words) && outer.length === 0 ? ['the backend gave no times of words'] : [];
    yield { type: 'finish', seconds, language: code, notes };
  }
}

interface Passing {
  readonly sent: SentFields | undefined;
  readonly pass: RemoteAddress['pass'] | undefined;
}

/** With times if the backend supports that format. whisper-server has a path of its own by default. */
async function transcribed(
  connection: BackendConnection,
  request: TranscriptionRequest,
  model: string,
  { signal, ...passing }: Passing & { readonly signal: AbortSignal },
): Promise<unknown> {
  const { translate } = request;
  const post = (path: string, format: string) =>
    connection.upload(path, transcriptionForm(request, model, format, passing), { signal });
  const path = translate ? '/v1/audio/translations' : '/v1/audio/transcriptions';
  try {
    return await post(path, 'verbose_json');
  } catch (error) {
    const { status } = error instanceof RemoteFailure ? error.facts : {};
    if (status === 404 && (await isWhisperServer(connection))) return post('/inference', 'verbose_json');
    if (status === 400 || status === 422) return post(path, 'json');
    throw error;
  }
}

/** Its page is the only thing by which whisper-server is known. */
export async function isWhisperServer(connection: BackendConnection): Promise<boolean> {
  const page = await connection.bytes('/', { milliseconds: voicesMs }).then(String, () => '');
  return /whisper\.cpp server/i.test(page);
}

function transcriptionForm(
  request: TranscriptionRequest,
  model: string,
  format: string,
  { sent, pass }: Passing,
): FormData {
  const { recording, language, translate, prompt, temperature, words } = request;
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(recording)]), `audio.${ending(recording)}`);
  form.set('model', model);
  form.set('response_format', format);
  form.set('temperature', String(temperature));
  if (language) form.set('language', language);
  if (prompt) form.set('prompt', prompt);
  // The field of whisper-server; others have a path for it.
  if (translate) form.set('translate', 'true');
  for (const one of words && format === 'verbose_json' ? ['word', 'segment'] : [])
    form.append('timestamp_granularities[]', one);
  const own = { ...Object.fromEntries([...form.keys()].map((name) => [name, true])), timestamp_granularities: true };
  for (const [name, value] of Object.entries(passedFields(own, sent, pass)))
    for (const one of [value].flat()) form.append(name, typeof one === 'string' ? one : JSON.stringify(one));
  return form;
}

/** Servers decide by the ending of the name how to read a file. */
function ending(recording: Uint8Array): string {
  const start = Buffer.from(recording.subarray(0, 12)).toString('latin1');
  if (start.startsWith('OggS')) return 'ogg';
  if (start.startsWith('fLaC')) return 'flac';
  if (start.startsWith('\x1aE')) return 'webm';
  if (start.slice(4, 8) === 'ftyp') return 'm4a';
  return start.startsWith('RIFF') ? 'wav' : 'mp3';
}

type Fields = ReturnType<typeof objectAt>;

function segmentOf(fields: Fields): Segment {
  const words = Array.isArray(fields.words) ? fields.words.map((one) => wordOf(objectAt(one))) : undefined;
  const tokens = listAt(fields.tokens).filter((one): one is number => typeof one === 'number');
  const [logprob, silence] = [numberAt(fields.avg_logprob), numberAt(fields.no_speech_prob)];
  return {
    start: numberAt(fields.start) ?? 0,
    end: numberAt(fields.end) ?? 0,
    text: textAt(fields.text) ?? '',
    ...(words ? { words } : {}),
    ...(tokens.length > 0 ? { tokens } : {}),
    ...(logprob === undefined ? {} : { averageLogprob: logprob }),
    ...(silence === undefined ? {} : { noSpeechProbability: silence }),
  };
}

function withoutWords({ words: _, ...segment }: Segment): Segment {
  return segment;
}

function wordOf({ word, start, end }: Fields): TimedWord {
  return { word: textAt(word) ?? '', start: numberAt(start) ?? 0, end: numberAt(end) ?? 0 };
}

/** A server for sound may have no list of models; then any name is sent. */
export async function identifySound(connection: BackendConnection, name: string) {
  const unlisted = { kind: 'audio', models: [{ id: name, name, contextSize: undefined, embeds: false }] } as const;
  try {
    const detectedLanguage = await identifyByModels(connection);
    return detectedLanguage.models.length > 0 ? detectedLanguage : { ...unlisted, inputs: detectedLanguage.inputs };
  } catch (error) {
    if (error instanceof RemoteFailure && error.isMissing)
      return { ...unlisted, inputs: { image: false, audio: false } };
    throw error;
  }
}
