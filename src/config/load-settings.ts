import { isObject } from '../core/json.ts';
import type { LoadSettings } from '../core/models-view.ts';
import type { FlagValue, Read } from './flag.ts';
import { type FlagKey, flagOf, type Layer } from './flags.ts';
import type { Running } from './load.ts';
import { readJson } from './value.ts';

/** The flags behind the load settings; `flashattention` is the opposite of its flag. */
const flags = {
  contextsize: 'contextsize',
  gpulayers: 'gpulayers',
  quantkv: 'quantkv',
  flashattention: 'noflashattention',
} as const satisfies Record<keyof LoadSettings, FlagKey>;

const keys = Object.keys(flags) as (keyof LoadSettings)[];

/** What a client sent or a file says. Missing settings stay as they are; the expectation of a wrong one is a sentence. */
export function readLoadSettings(sent: unknown): Read<{ readonly value: Partial<LoadSettings> }> {
  if (!isObject(sent)) return { ok: false, expected: 'The settings must be an object.' };
  const value: Record<string, FlagValue> = {};
  for (const key of keys) {
    const own = sent[key];
    if (own === undefined) continue;
    const isSwitch = key === 'flashattention';
    const flag = flagOf(flags[key]);
    // Flags that used to be switches would read true and false as well.
    const isRead = isSwitch ? typeof own === 'boolean' : typeof own !== 'boolean';
    const reading = own === null ? undefined : readJson(flag, isRead ? own : {});
    if (reading && !reading.ok) {
      const expected = isSwitch
        ? 'Flash attention needs true, false or null.'
        : `${flag.label} needs ${reading.expected}.`;
      return { ok: false, expected };
    }
    value[key] = reading?.value ?? null;
  }
  return { ok: true, value };
}

/** Null where the server chooses. */
export function loadSettingsOf({ settings, given }: Running): LoadSettings {
  const { contextsize, gpulayers, autofit, quantkv, noflashattention } = settings;
  return {
    contextsize: given.has('contextsize') ? contextsize : null,
    gpulayers: autofit || gpulayers < 0 ? null : gpulayers,
    quantkv: given.has('quantkv') ? quantkv : null,
    flashattention: noflashattention ? false : given.has('noflashattention') ? true : null,
  };
}

/** Values of flags; null for one that gets its default. */
export function loadLayer(load: Partial<LoadSettings>): Layer {
  const layer = new Map<FlagKey, FlagValue>();
  const { contextsize, gpulayers, quantkv, flashattention } = load;
  if (contextsize !== undefined) layer.set('contextsize', contextsize);
  if (gpulayers !== undefined) layer.set('gpulayers', gpulayers === -1 ? null : gpulayers);
  // Automatic placement would ignore the number.
  if (gpulayers !== undefined && gpulayers !== null && gpulayers >= 0) layer.set('autofit', null);
  if (quantkv !== undefined) layer.set('quantkv', quantkv);
  if (flashattention !== undefined) layer.set('noflashattention', flashattention === null ? null : !flashattention);
  return layer;
}
