import type { HubEntry, HubFile, HubOrder } from './hub.ts';
import { bytesText } from './status.ts';
import { texts as shared } from './texts.ts';

const compact = (value: number): string => value.toLocaleString('en', { notation: 'compact' });

export const texts = {
  title: 'Find a model',
  label: 'Words, or the address of a model',
  placeholder: 'qwen3 8b',
  help: 'Searches Hugging Face. The address of a model works too: owner/name, owner/name:Q4_K_M or its page.',
  search: 'Search',
  searching: 'Searching …',
  results: 'Models found',
  none: 'Nothing found. Try fewer or other words.',
  more: 'More',
  order: 'Order',
  orders: { downloads: 'Downloads', likes: 'Likes', date: 'Newest' } satisfies Record<HubOrder, string>,
  downloads: (value: number) => `${compact(value)} downloads`,
  likes: (value: number) => `${compact(value)} likes`,
  changed: (date: string) => `changed ${new Date(date).toLocaleDateString('en', { month: 'short', year: 'numeric' })}`,
  projector: 'pictures or sound',
  tools: 'tools',
  thinking: 'thinking',
  terms: 'needs consent',
  unsupported: 'cannot be loaded by this version',
  files: {
    reading: 'Reading its files …',
    terms: (id: string) => `Its terms have to be accepted on huggingface.co/${id} first, and HF_TOKEN has to be set.`,
    unsupported: 'This version of Parley cannot load this kind of model.',
    others: (count: number) => `Choose among ${count} files`,
    legend: (id: string) => `Files of ${id}`,
    fits: {
      card: 'fits on the graphics card',
      part: 'fits partly on the graphics card',
      processor: 'runs on the processor',
      no: 'too large for this computer',
    } satisfies Record<NonNullable<HubFile['fit']>, string>,
    layers: (on: number, all: number) => `${on} of ${all} layers on the graphics card`,
    speeds: {
      fast: 'fast',
      good: 'good speed',
      slow: 'slow',
      'very slow': 'very slow',
    } satisfies Record<NonNullable<HubFile['speed']>, string>,
    memory: (bytes: number) => `${bytesText(bytes)} of memory`,
    context: (tokens: number) => `Memory is estimated for a context of ${tokens.toLocaleString('en')} tokens.`,
    withProjector: (bytes: number) => `Includes ${bytesText(bytes)} for pictures or sound.`,
    download: (name: string, bytes: number) => `Download ${name} (${bytesText(bytes)})`,
  },
  download: 'Download',
  cancel: 'Cancel',
  progress: (done: number, total: number | undefined) =>
    total === undefined ? bytesText(done) : `${bytesText(done)} of ${bytesText(total)}`,
  starting: 'Connecting …',
  bar: (source: string) => `Download of ${source}`,
  done: (source: string) => `Downloaded ${source}.`,
  failed: (source: string, reason: string) => `Cannot download ${source}: ${reason}`,
  cancelled: 'Download cancelled. Start it again to continue where it stopped.',
} as const;

const known = (facts: readonly (string | null | false)[]): string[] => facts.filter((fact) => typeof fact === 'string');

/** What the hub says about a model, and what speaks against it. */
export function hubFacts(model: HubEntry): { facts: readonly string[]; warnings: readonly string[] } {
  const { parameters, architecture, context, projector, tools, thinking, licence, downloads, likes, changed } = model;
  return {
    warnings: known([model.supported === false && texts.unsupported, model.gated !== 'no' && texts.terms]),
    facts: known([
      parameters !== null && shared.facts.parameters(parameters),
      architecture,
      context !== null && shared.facts.context(context),
      projector && texts.projector,
      tools && texts.tools,
      thinking && texts.thinking,
      licence,
      downloads !== null && texts.downloads(downloads),
      likes !== null && likes > 0 && texts.likes(likes),
      changed !== null && texts.changed(changed),
    ]),
  };
}

/** Size, place and speed of a file. */
export function fileLine({ bytes, fit, card_layers, layers, memory_bytes, speed }: HubFile): string {
  const { files } = texts;
  const isPartly = fit === 'part' && card_layers !== null && layers !== null;
  return known([
    bytesText(bytes),
    isPartly ? files.layers(card_layers, layers) : fit && files.fits[fit],
    fit !== 'no' && speed && files.speeds[speed],
    memory_bytes !== null && files.memory(memory_bytes),
  ]).join(' · ');
}
