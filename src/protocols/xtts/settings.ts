import type { JsonObject } from '../../http/body.ts';
import { looseNumber } from '../fields/loose.ts';
import { clamp, orElse } from '../fields/readers.ts';

/** What clients set for all that follows. Only the pace means something to the engines here; the rest is kept and told back. */
export interface XttsSettings {
  readonly temperature: number;
  readonly speed: number;
  readonly length_penalty: number;
  readonly repetition_penalty: number;
  readonly top_p: number;
  readonly top_k: number;
  readonly enable_text_splitting: boolean;
  readonly stream_chunk_size: number;
}

export const usualSettings: XttsSettings = {
  temperature: 0.75,
  speed: 1,
  length_penalty: 1,
  repetition_penalty: 5,
  top_p: 0.85,
  top_k: 50,
  enable_text_splitting: true,
  stream_chunk_size: 100,
};

/** Where the original has limits, values are moved into them. */
const limits: Readonly<Partial<Record<keyof XttsSettings, readonly [number, number]>>> = {
  temperature: [0.01, 1],
  speed: [0.2, 2],
  repetition_penalty: [0.1, 10],
  top_p: [0.01, 1],
  top_k: [1, 100],
  stream_chunk_size: [20, 400],
};

/** Sliders of browsers send their numbers as texts. What is no number, or was not sent, stays as it was. */
export function withSettings(settings: XttsSettings, body: JsonObject): XttsSettings {
  const changed = Object.entries(settings).map(([key, present]: [string, number | boolean]) => {
    const sent = body[key];
    if (typeof present === 'boolean') return [key, readSwitch(sent, present)];
    const [least, most] = limits[key as keyof XttsSettings] ?? [];
    return [key, clamp(orElse(looseNumber, present)(sent, key), least, most)];
  });
  return Object.fromEntries(changed) as XttsSettings;
}

function readSwitch(sent: unknown, present: boolean): boolean {
  const word = String(sent).trim().toLowerCase();
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : present;
}
