import { AppError } from '../../core/errors.ts';
import {
  type MusicEvent,
  type MusicRequest,
  type MusicService,
  type SongFormat,
  songFormats,
} from '../../core/music.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Call, type Dialect, type Headers, json, type Reply } from '../../http/call.ts';
import { write } from '../access.ts';
import { readGenkey } from '../controls/table.ts';
import { ignoredHeader } from '../dialect.ts';
import { bodyOf, endpointRow } from '../endpoint.ts';
import * as f from '../fields.ts';
import { requestContextOf } from '../request-context.ts';

type MusicContext = { readonly taskServices?: { readonly music?: MusicService } };

/** `dialect` is that of the native API, which these paths belong to. */
export function musicEndpoints({ dialect, newSeed }: { readonly dialect: Dialect; readonly newSeed: () => number }) {
  const row = endpointRow(write('audio'), {
    method: 'POST',
    queued: true,
    modelSelection: 'any-name',
    fields: musicFields,
    dialect,
  });

  async function prepare(call: Call, { taskServices }: MusicContext): Promise<Reply> {
    // Status 200: the music page then plans with the text model.
    if (!taskServices?.music) return json({ error: missing().message });
    return json(encodeSongFields(decodeSong(await bodyOf(call, 'object'), newSeed)));
  }

  async function generate(call: Call, { taskServices }: MusicContext): Promise<Reply> {
    const body = await bodyOf(call);
    const fields = decodeSong(body, newSeed);
    if (!taskServices?.music) throw missing();
    const request = musicRequest(fields);
    call.watch?.decoded?.(request);
    const events = taskServices.music.generate(request, requestContextOf(call, fields.genkey));
    return encodeSongFile(events, request.format, ignoredHeader(musicFields, body));
  }

  const summary = 'The complete parameters of a song, to be posted to /api/extra/music/generate.';
  return [
    row('/api/extra/music/prepare', summary, prepare, { response: 'prepareSong' }),
    row('/api/extra/music/generate', 'A song as a file: wav (48 kHz, stereo) or mp3.', generate, { response: 'song' }),
  ];
}

function missing(): AppError {
  const flag = '--musicllm, --musicembeddings, --musicdiffusion and --musicvae';
  return new AppError('model-missing', { capability: 'music', flag });
}

const contentTypes: Readonly<Record<SongFormat, string>> = { wav: 'audio/wav', mp3: 'audio/mpeg' };

/** The fields of a request that are not about the song, but about its file. */
export const songFileFields: readonly string[] = ['genkey', 'stereo', 'use_mp3', 'response_format'];

/** The parameters of a song, to be posted to `generate`. */
function encodeSongFields(fields: SongFields): object {
  const { audio_codes: codes, ...others } = fields;
  const song = Object.entries(others).filter(([name]) => !songFileFields.includes(name));
  return { ...Object.fromEntries(song), task_type: 'text2music', thinking: false, audio_codes: codes.join(',') };
}

/** The whole file: clients of this dialect decode it at once. */
async function encodeSongFile(events: AsyncIterable<MusicEvent>, format: SongFormat, headers: Headers): Promise<Reply> {
  const pieces: Uint8Array[] = [];
  for await (const event of events) if (event.type === 'audio') pieces.push(event.bytes);
  return {
    status: 200,
    headers: {
      'content-type': contentTypes[format],
      'content-disposition': `attachment; filename="output.${format}"`,
      ...headers,
    },
    body: Buffer.concat(pieces),
  };
}

type SongFields = f.Fields<typeof musicFields>;

/** The fields of a song, with a seed. */
function decodeSong(body: JsonObject, newSeed: () => number): SongFields {
  const fields = f.readFields(musicFields, body);
  const { caption, seed } = fields;
  return {
    ...fields,
    caption: caption.trim() === '' ? 'An interesting song' : caption,
    seed: seed > 0 ? seed : newSeed(),
  };
}

function musicRequest(fields: SongFields): MusicRequest {
  return {
    caption: fields.caption,
    lyrics: fields.instrumental ? '[Instrumental]' : fields.lyrics.trim() || undefined,
    bpm: fields.bpm > 0 ? fields.bpm : undefined,
    seconds: fields.duration > 0 ? fields.duration : undefined,
    keyScale: fields.keyscale || undefined,
    timeSignature: fields.timesignature || undefined,
    language: fields.vocal_language,
    seed: fields.seed,
    planner: {
      temperature: fields.lm_temperature,
      topP: fields.lm_top_p,
      topK: fields.lm_top_k,
      guidance: fields.lm_cfg_scale,
    },
    codes: fields.audio_codes,
    steps: fields.inference_steps,
    shift: fields.shift,
    guidance: fields.guidance_scale,
    stereo: fields.stereo,
    format: fields.use_mp3 ? 'mp3' : fields.response_format,
  };
}

/** Longest song in seconds, and what the engine needs for it. */
const limits = { seconds: 420, steps: 100, codes: 5 * 420, characters: 10_000 } as const;

const shortText: f.Read<string> = f.described({ type: 'string', maxLength: limits.characters }, (value, path) => {
  const text = f.readText(value, path);
  if (text.length > limits.characters) throw f.wrong(path, `at most ${limits.characters} characters`);
  return text;
});

const numeric =
  (type: 'number' | 'integer', read: f.Read<number>) =>
  (fallback: number, min?: number, max?: number): f.Read<number> =>
    f.described({ type, default: fallback }, (value, path) => f.clamp(f.orElse(read, fallback)(value, path), min, max));
const number = numeric('number', f.looseNumber);
const whole = numeric('integer', f.looseWhole);

/** `12, 345`: indices into the codebook of the model. */
const readCodes: f.Read<readonly number[]> = f.described({ type: 'string' }, (value, path) => {
  const words = f.readText(value, path).split(',');
  const codes = words.filter((word) => word.trim() !== '').map(Number);
  if (codes.length > limits.codes) throw f.wrong(path, `at most ${limits.codes} codes`);
  if (codes.every((code) => Number.isInteger(code) && code >= 0 && code < 64_000)) return codes;
  throw f.wrong(path, 'integers from 0 to 63999, separated by commas');
});

const anyText: f.Read<string> = f.described({ type: 'string' }, (value) => (typeof value === 'string' ? value : ''));

function unsupported(feature: string): AppError {
  return new AppError('unsupported', { feature, instead: 'the engine generates songs from text only (text2music)' });
}

const textToMusicOnly: f.Read<unknown> = (value) => {
  if (value !== 'text2music' && value !== '') throw unsupported(`The task_type ${JSON.stringify(value)}`);
};

const noReference: f.Read<unknown> = (value) => {
  if (value !== '') throw unsupported('Reference audio');
};

const chosen = 'Left out: chosen by the language model in generate.';
const planned = 'The engine plans while it generates, with one set of sampling parameters.';

/** Fields of both endpoints: what `prepare` replies is what `generate` reads. */
export const musicFields = {
  caption: f.honoured(f.orElse(shortText, ''), 'Style of the song. Empty: "An interesting song".'),
  lyrics: f.honoured(
    f.orElse(shortText, ''),
    'With section tags such as [Verse 1]. Empty: written by the language model.',
  ),
  instrumental: f.honoured(f.orElse(f.looseFlag, false), 'No vocals; lyrics are not used.'),
  bpm: f.honoured(whole(0), chosen),
  duration: f.honoured(number(-1, -1, limits.seconds), `Seconds, at most ${limits.seconds}. ${chosen}`),
  keyscale: f.honoured(f.orElse(shortText, ''), chosen),
  timesignature: f.honoured(f.orElse(shortText, ''), chosen),
  vocal_language: f.honoured(f.orElse(shortText, 'en')),
  seed: f.honoured(whole(-1), '0 and less: random. The reply of prepare has the seed.'),
  lm_temperature: f.honoured(number(0.9, 0)),
  lm_cfg_scale: f.honoured(number(3, 0)),
  lm_top_p: f.honoured(number(0.9, 0, 1)),
  lm_top_k: f.honoured(whole(50, 0)),
  audio_codes: f.honoured(f.orElse(readCodes, []), 'The language model is not used with codes.'),
  inference_steps: f.honoured(
    whole(8, 0, limits.steps),
    `At most ${limits.steps}; 0: default of the model. Another number than in the last song loads the model again.`,
  ),
  guidance_scale: f.honoured(number(1, 0), '0: default of the model.'),
  shift: f.honoured(number(3, 0), '0: default of the model. Like inference_steps, it belongs to the loaded model.'),
  stereo: f.honoured(f.orElse(f.looseFlag, true), 'false: mono with 32 kHz instead of stereo with 48 kHz.'),
  use_mp3: f.honoured(f.orElse(f.looseFlag, false)),
  response_format: f.approximated(f.knownOr('wav', songFormats), 'mp3 and wav; wav for all others.'),
  genkey: f.honoured(readGenkey, 'The key by which the native API can stop it.'),
  codes_temperature: f.returnedField(number(1), planned),
  codes_top_p: f.returnedField(number(0.99), planned),
  codes_top_k: f.returnedField(whole(1000), planned),
  lm_rep_pen: f.returnedField(number(1.03), 'The engine has no repetition penalty.'),
  lm_negative_prompt: f.returnedField(anyText, 'The engine has no negative prompt.'),
  gen_codes: f.ignored('Codes are made in generate.'),
  rewrite_caption: f.ignored('The caption stays as it is; without lyrics, generate extends it.'),
  audio_cover_strength: f.ignored('For reference audio.'),
  task_type: f.refused('Only text2music.', textToMusicOnly),
  music_reference_audio_data: f.refused('Songs are generated from text only.', noReference),
};
