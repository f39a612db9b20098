import { AppError } from '../core/errors.ts';
import type { SpeechService, Voice } from '../core/speech.ts';
import type { TaskServices } from '../core/task-services.ts';
import { readGenkey } from './controls/table.ts';
import * as f from './fields.ts';

/** Limits of the speaking rate; 1 is normal. */
export const speedRange = { min: 0.25, max: 4 } as const;

export const spokenNotes = {
  text: 'Up to --ttsmaxlen words; more is refused. A style in brackets at its beginning is taken off: it is the instruction.',
  voice:
    'A name of the list, its position there, or a name of OpenAI. Voices of the voices pack can be mixed, such as af_heart(2)+am_adam, and there any other name is refused; the other engines give it a fixed voice. Samples of --ttsdir are listed, but no engine here can imitate them: x-parley-notes tells who speaks instead.',
  language: 'A voice has its own language; x-parley-notes says so where it is another one.',
} as const;

/** A name, or an object that holds one. */
export const readVoiceName: f.Read<string> = f.described({ type: ['string', 'integer', 'object'] }, (value, path) => {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  const name = f.isObject(value) ? (value.id ?? value.name) : undefined;
  if (typeof name === 'string') return name;
  throw f.wrong(path, 'the name of a voice, or an object with its id');
});

/** The fields of text-to-speech requests; each dialect has most of them. */
export const spokenFields = {
  input: f.honoured(f.optionalText, spokenNotes.text),
  text: f.honoured(f.optionalText, 'Another name of input.'),
  voice: f.approximated(f.optional(readVoiceName), spokenNotes.voice),
  speaker_wav: f.approximated(f.optional(readVoiceName), 'Another name of voice.'),
  instruction: f.approximated(f.optionalText, 'No engine here follows it; x-parley-notes says so.'),
  language: f.approximated(f.optionalText, spokenNotes.language),
  seed: f.approximated(
    f.orElse(f.looseWhole, -1),
    'Handed to the engine; those of today always say a text in the same way.',
  ),
  genkey: f.honoured(readGenkey, 'The key by which the native API can stop it.'),
  speaker_json: f.ignored('For OuteTTS, which is not possible yet.'),
};

/** What a dialect has read of them; it may have only some. */
export type SpokenFields = Partial<f.Fields<typeof spokenFields>> & {
  readonly instructions?: string | undefined;
  readonly lang_code?: string | undefined;
};

export function speechOf({ taskServices }: { readonly taskServices?: TaskServices | undefined }): SpeechService {
  if (taskServices?.speech) return taskServices.speech;
  throw new AppError('model-missing', { capability: 'text-to-speech', flag: '--ttsmodel FILE' });
}

/** The part of a speech request that all dialects share, and notes about what cannot be done. */
export async function spokenText(fields: SpokenFields, service: SpeechService) {
  const field = fields.input === undefined && fields.text !== undefined ? 'text' : 'input';
  const sent = fields[field]?.trim() ?? '';
  const own = fields.instructions || fields.instruction || '';
  const { text, instruction } = own === '' ? splitInstruction(sent) : { text: sent, instruction: own };
  if (text === '') throw f.wrong(field, 'a text that is to be spoken');
  const words = wordCount(text);
  if (words > service.maxWords) {
    throw f.wrong(field, `at most ${service.maxWords} words long (--ttsmaxlen), and this is ${words}`);
  }
  const voiceField = fields.voice === undefined && fields.speaker_wav !== undefined ? 'speaker_wav' : 'voice';
  const [voiceName, voices] = [fields[voiceField] ?? '', await service.voices()];
  const { voice, notes } = service.exactVoices
    ? exactVoice(voiceName, voices, voiceField)
    : chooseVoice(voiceName, voices);
  const language = fields.language || fields.lang_code || '';
  return { spoken: { text, instruction, voice, language, seed: fields.seed ?? -1 }, notes };
}

/** `[whispering] Good night.` */
function splitInstruction(sent: string): { readonly text: string; readonly instruction: string } {
  const [, instruction = '', text = sent] = /^\[([^\]\n]{1,500})\]\s*(\S.*)$/s.exec(sent) ?? [];
  return { text, instruction };
}

/** Names of voices in other products, and of the built-in ones. Each always means the same voice here, of the same sound where there is one. */
const knownVoices = {
  male: 'onyx echo ash ballad fable verse cedar kobo shouty aiden ryan eric dylan uncle_fu rms awb kal16 kal',
  female: 'alloy nova shimmer coral sage marin cheery sleepy chatty serena ono_anna sohee vivian slt',
} as const;

interface VoiceChoice {
  readonly voice: string;
  readonly notes: readonly string[];
}

/** A voice of the list or a mixture of some, such as `a(2)+b`; names of other products as below. Refuses any other name. */
export function exactVoice(sent: string, voices: readonly Voice[], field = 'voice'): VoiceChoice {
  const parts = sent.split('+').map((part) => {
    const [, name = part, weight] = /^(.*?)\s*\(\s*(\d+(?:\.\d+)?)\s*\)\s*$/.exec(part) ?? [];
    return { name: plainName(name), weight };
  });
  const own = ownVoices(voices);
  const names = own.map(({ name }) => name);
  const chosen = parts.map(({ name, weight }) => {
    const voice = own.find((one) => [one.name, ...(one.aliases ?? [])].some((known) => plainName(known) === name));
    if (voice && Number(weight ?? 1) > 0) return weight === undefined ? voice.name : `${voice.name}(${Number(weight)})`;
    if (parts.length === 1 && weight === undefined && knownVoice(name, voices)) return undefined;
    throw f.wrong(field, `one of ${names.join(', ')}, or a mixture of them such as ${names[0]}(2)+${names[1]}`);
  });
  const [only] = chosen;
  return parts.length === 1 && only === undefined ? chooseVoice(sent, voices) : { voice: chosen.join('+'), notes: [] };
}

/** Where a name of another product is among those of its sound. */
function knownSound(name: string): { readonly sound: 'male' | 'female'; readonly index: number } | undefined {
  for (const sound of ['male', 'female'] as const) {
    const index = knownVoices[sound].split(' ').indexOf(name);
    if (index !== -1) return { sound, index };
  }
  return undefined;
}

/** Any name gives a voice, and the same one each time. */
export function chooseVoice(sent: string, voices: readonly Voice[]): VoiceChoice {
  const name = plainName(sent);
  return knownVoice(name, voices) ?? { voice: nameAt(ownVoices(voices), stableNumber(name)), notes: [] };
}

/** The voice of a name or a position of the list, or of a name of another product. */
function knownVoice(name: string, voices: readonly Voice[]): VoiceChoice | undefined {
  const own = ownVoices(voices);
  if (name === '') return { voice: own[0]?.name ?? '', notes: [] };
  const position = /^\d{1,4}$/.test(name) ? voices[Number(name) - 1] : undefined;
  const listed = voices.find((voice) => plainName(voice.name) === name) ?? position;
  if (listed && !listed.sample) return { voice: listed.name, notes: [] };
  if (listed) {
    const voice = nameAt(own, stableNumber(name));
    const note = `The sample ${listed.name} cannot be imitated by this engine; ${voice} speaks instead.`;
    return { voice, notes: [note] };
  }
  const known = knownSound(name);
  if (!known) return undefined;
  const alike = own.filter((voice) => voice.sound === known.sound);
  return { voice: nameAt(alike.length > 0 ? alike : own, known.index), notes: [] };
}

const ownVoices = (voices: readonly Voice[]) => voices.filter(({ sample }) => !sample);

function plainName(name: string): string {
  const plain = name.trim().toLowerCase();
  return plain.replace(/\.(wav|mp3)$/, '');
}

function nameAt(voices: readonly Voice[], index: number): string {
  return voices[index % Math.max(1, voices.length)]?.name ?? '';
}

/** From 10000 to 99999, by the name alone. */
function stableNumber(name: string): number {
  let number = 25_343;
  for (let index = 0; index < name.length; index++) {
    number = (1_664_525 * number + name.charCodeAt(index) + 1_013_904_223) % 89_999;
  }
  return number + 10_000;
}

/** Scripts without spaces between words, in which each sign counts; elsewhere a word has at most twenty letters. */
const wordPattern =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]{1,20}/gu;

/** How long a text is when it is spoken. */
export function wordCount(text: string): number {
  let count = 0;
  for (const _ of text.matchAll(wordPattern)) count += 1;
  return count;
}
