import { newId } from '../saved/id.ts';
import { Records } from '../saved/records.svelte.ts';
import { differs, freeName, type Preset, type PresetKind, promptValuesOf, samplerValuesOf } from './presets.ts';
import { builtInPresets } from './sampler-panel.ts';
import { settings } from './settings.svelte.ts';
import { defaultPromptValues } from './values.ts';

/** The presets of the person. */
export const presets = new Records<Preset>('presets');

const chosenField = { samplers: 'samplerPreset', prompt: 'promptPreset' } as const;

/** The own presets that have values of a kind, by name. */
export function ownPresets(kind: PresetKind): readonly Preset[] {
  return presets.all
    .filter((preset) => preset[kind] !== undefined)
    .toSorted((one, other) => one.name.localeCompare(other.name));
}

/** The chosen preset; undefined if it was deleted or there is none. */
export function chosenPreset(kind: PresetKind): Preset | undefined {
  const id = settings[chosenField[kind]];
  const builtIn = kind === 'samplers' ? builtInPresets.find((preset) => preset.id === id) : undefined;
  return builtIn ?? ownPresets(kind).find((preset) => preset.id === id);
}

function valuesOf(kind: PresetKind) {
  return $state.snapshot(kind === 'samplers' ? samplerValuesOf(settings) : promptValuesOf(settings));
}

/** Whether the settings differ from those of the chosen preset. */
export function isChanged(kind: PresetKind): boolean {
  const preset = chosenPreset(kind);
  return preset !== undefined && differs<object>(valuesOf(kind), preset[kind] ?? {});
}

/** Sets the values of a preset. Without a preset the prompt is empty; samplers always have one. */
export function choosePreset(kind: PresetKind, id: string): void {
  settings[chosenField[kind]] = id;
  const preset = chosenPreset(kind);
  const values = preset?.[kind] ?? (kind === 'prompt' ? defaultPromptValues : {});
  Object.assign(settings, structuredClone($state.snapshot(values)));
}

/** Keeps the settings as a new preset, which is then chosen. */
export function savePreset(kind: PresetKind, name: string): Preset {
  const preset: Preset = { id: newId(), name, changedAt: Date.now(), [kind]: valuesOf(kind) };
  presets.put(preset);
  settings[chosenField[kind]] = preset.id;
  return preset;
}

/** Keeps the settings in the chosen preset. */
export function updatePreset(kind: PresetKind): void {
  const id = settings[chosenField[kind]];
  presets.change(id, (preset) => ({ ...preset, changedAt: Date.now(), [kind]: valuesOf(kind) }));
}

export function renamePreset(id: string, name: string): void {
  presets.change(id, (preset) => ({ ...preset, name, changedAt: Date.now() }));
}

/** Deletes the values of a kind; a preset may have both. The settings stay. Returns how to undo it. */
export function removePreset(kind: PresetKind, id: string): () => void {
  const preset = presets.find(id);
  if (!preset) return () => {};
  const { samplers, prompt, ...rest } = preset;
  if (kind === 'samplers' && prompt) presets.put({ ...rest, prompt });
  else if (kind === 'prompt' && samplers) presets.put({ ...rest, samplers });
  else presets.remove(id);
  settings[chosenField[kind]] = '';
  return () => {
    presets.put(preset);
    settings[chosenField[kind]] = id;
  };
}

/** Adds imported presets under free names. */
export function addPresets(added: readonly Preset[]): readonly Preset[] {
  return added.map((preset) => {
    const named = {
      ...preset,
      name: freeName(
        preset.name,
        presets.all.map(({ name }) => name),
      ),
    };
    const { skipped: _, ...stored } = named;
    presets.put(stored);
    return named;
  });
}
