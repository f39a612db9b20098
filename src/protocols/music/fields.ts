import { AppError } from '../../core/errors.ts';
import { type SongFormat, songFormats } from '../../core/music.ts';
import { readGenkey } from '../controls/table.ts';
import * as f from '../fields.ts';

/** Longest song in seconds, and what the engine needs for it. */
const limits = { seconds: 420, steps: 100, codes: 5 * 420, characters: 10_000 } as const;

const shortText: f.Read<string> = f.described({ type: 'string', maxLength: limits.characters }, (value, path) => {
  const text = f.readText(value, path);
  if (text.length > limits.characters) throw f.wrong(path, `at most ${limits.characters} characters`);
  return text;
});

const number = (fallback: number, least?: number, most?: number): f.Read<number> =>
  f.described({ type: 'number', default: fallback }, (value, path) =>
    f.clamp(f.orElse(f.looseNumber, fallback)(value, path), least, most),
  );

const whole = (fallback: number, least?: number, most?: number): f.Read<number> =>
  f.described({ type: 'integer', default: fallback }, (value, path) =>
    f.clamp(f.orElse(f.looseWhole, fallback)(value, path), least, most),
  );

/** `12, 345`: indices into the codebook of the model. */
const readCodes: f.Read<readonly number[]> = f.described({ type: 'string' }, (value, path) => {
  const words = f.readText(value, path).split(',');
  const codes = words.filter((word) => word.trim() !== '').map(Number);
  if (codes.length > limits.codes) throw f.wrong(path, `at most ${limits.codes} codes`);
  if (codes.every((code) => Number.isInteger(code) && code >= 0 && code < 64_000)) return codes;
  throw f.wrong(path, 'integers from 0 to 63999, separated by commas');
});

const readFormat: f.Read<SongFormat> = f.described(
  { enum: songFormats },
  (value) => songFormats.find((format) => format === value) ?? 'wav',
);

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
  response_format: f.approximated(f.orElse(readFormat, 'wav'), 'mp3 and wav; wav for all others.'),
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

export const musicFidelity = f.fidelityOf(
  'Native text API',
  'POST /api/extra/music/prepare, /api/extra/music/generate',
  musicFields,
);
