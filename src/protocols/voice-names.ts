import type { Voice } from '../core/speech.ts';
import { described, isObject, type Read, wrong } from './fields/readers.ts';

/** Names that clients know from elsewhere. Each always means the same voice here, of the same sound where there is one. */
const known = {
  male: 'onyx echo ash ballad fable verse cedar kobo shouty aiden ryan eric dylan uncle_fu',
  female: 'alloy nova shimmer coral sage marin cheery sleepy chatty serena ono_anna sohee vivian',
} as const;

export interface ChosenVoice {
  readonly voice: string;
  readonly notes: readonly string[];
}

/** A name, or an object that holds one. */
export const readVoiceName: Read<string> = described({ type: ['string', 'integer', 'object'] }, (value, path) => {
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  const name = isObject(value) ? (value.id ?? value.name) : undefined;
  if (typeof name === 'string') return name;
  throw wrong(path, 'the name of a voice, or an object with its id');
});

/** Any name gives a voice, and the same one each time. */
export function chooseVoice(sent: string, voices: readonly Voice[]): ChosenVoice {
  const own = voices.filter(({ sample }) => !sample);
  const name = plainName(sent);
  if (name === '') return { voice: own[0]?.name ?? '', notes: [] };
  const listed = voices.find((voice) => plainName(voice.name) === name) ?? atPosition(name, voices);
  if (listed && !listed.sample) return { voice: listed.name, notes: [] };
  for (const sound of ['male', 'female'] as const) {
    const place = known[sound].split(' ').indexOf(name);
    if (place === -1 || listed) continue;
    const alike = own.filter((voice) => voice.sound === sound);
    return { voice: at(alike.length > 0 ? alike : own, place), notes: [] };
  }
  const voice = at(own, stableNumber(name));
  const note = `The sample ${listed?.name} cannot be imitated by this engine; ${voice} speaks instead.`;
  return { voice, notes: listed ? [note] : [] };
}

function plainName(name: string): string {
  return name
    .trim()
    .toLowerCase()
    .replace(/\.(wav|mp3)$/, '');
}

function atPosition(name: string, voices: readonly Voice[]): Voice | undefined {
  return /^\d{1,4}$/.test(name) ? voices[Number(name) - 1] : undefined;
}

function at(voices: readonly Voice[], place: number): string {
  return voices[place % Math.max(1, voices.length)]?.name ?? '';
}

/** From 10000 to 99999, and nothing but the name decides. */
function stableNumber(name: string): number {
  let number = 25_343;
  for (let index = 0; index < name.length; index++) {
    number = (1_664_525 * number + name.charCodeAt(index) + 1_013_904_223) % 89_999;
  }
  return number + 10_000;
}
