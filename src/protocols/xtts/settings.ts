import type { JsonObject } from '../../http/body.ts';
import * as f from '../fields.ts';

/** Only the speed has an effect; the rest is stored and returned to clients. */
export const defaultSettings = {
  temperature: 0.75,
  speed: 1,
  length_penalty: 1,
  repetition_penalty: 5,
  top_p: 0.85,
  top_k: 50,
  enable_text_splitting: true,
  stream_chunk_size: 100,
};

type XttsSettings = Readonly<typeof defaultSettings>;

/** The limits of the original. */
const limits: Readonly<Partial<Record<string, readonly [number, number]>>> = {
  temperature: [0.01, 1],
  speed: [0.2, 2],
  repetition_penalty: [0.1, 10],
  top_p: [0.01, 1],
  top_k: [1, 100],
  stream_chunk_size: [20, 400],
};

/** Browsers send numbers of sliders as strings. A setting that is missing or no number keeps its value. */
export function withSettings(settings: XttsSettings, body: JsonObject): XttsSettings {
  const changed = Object.entries(settings).map(([key, present]: [string, number | boolean]) => {
    if (typeof present === 'boolean') return [key, readSwitch(body[key], present)];
    const [min, max] = limits[key] ?? [];
    return [key, f.clamp(f.orElse(f.looseNumber, present)(body[key], key), min, max)];
  });
  return Object.fromEntries(changed) as XttsSettings;
}

function readSwitch(sent: unknown, present: boolean): boolean {
  const word = String(sent).trim().toLowerCase();
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : present;
}
