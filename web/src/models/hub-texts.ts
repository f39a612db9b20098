import { byteSize, compact, date, number, plural, translatable } from '../languages/index.ts';
import type { Download } from './downloads.svelte.ts';
import type { HubFile, HubModel, HubOrder } from './hub.ts';
import { texts as shared } from './panel-texts.ts';
import type { Purpose } from './recommendation.ts';
import { parametersText } from './status.ts';

export const texts = translatable('hub', {
  title: 'Find a model',
  label: 'Words, or the address of a model',
  placeholder: 'qwen3 8b',
  help: 'Searches Hugging Face. The address of a model works too: owner/name, owner/name:Q4_K_M, qwen3:8b of Ollama, or its page.',
  search: 'Search',
  searching: 'Searching …',
  results: 'Models found',
  none: 'Nothing found. Try fewer or other words.',
  more: 'More',
  order: 'Order',
  orders: { downloads: 'Downloads', likes: 'Likes', date: 'Newest' } satisfies Record<HubOrder, string>,
  downloads: (value: number) => `${compact(value)} downloads`,
  likes: (value: number) => `${compact(value)} likes`,
  changed: (day: string) => `changed ${date(day, { month: 'short', year: 'numeric' })}`,
  projector: 'pictures or sound',
  tools: 'tools',
  thinking: 'thinking',
  terms: 'needs consent',
  unsupported: 'cannot be loaded by this version',
  files: {
    reading: 'Reading its files …',
    terms: (id: string) => `Its terms have to be accepted on huggingface.co/${id} first, and HF_TOKEN has to be set.`,
    unsupported: 'This version of Parley cannot load this kind of model.',
    others: (count: number) => plural(count, { one: 'Choose among # file', other: 'Choose among # files' }),
    legend: (id: string) => `Files of ${id}`,
    fits: {
      card: 'fits on the graphics card',
      part: 'fits partly on the graphics card',
      processor: 'runs on the processor',
      no: 'too large for this computer',
    } satisfies Record<NonNullable<HubFile['fit']>, string>,
    layers: (on: number, all: number) => `${number(on)} of ${number(all)} layers on the graphics card`,
    speeds: {
      fast: 'fast',
      good: 'good speed',
      slow: 'slow',
      'very slow': 'very slow',
    } satisfies Record<NonNullable<HubFile['speed']>, string>,
    memory: (bytes: number) => `${byteSize(bytes)} of memory`,
    context: (tokens: number) => `Memory is estimated for a context of ${number(tokens)} tokens.`,
    /** Of the file that is chosen. */
    why: {
      unknown: 'It is small and nearly as good as the original. Whether it fits is not known before the download.',
      card: (context: number) =>
        `The largest useful file that fits wholly on the graphics card with a context of ${number(context)}.`,
      memory: (context: number) =>
        `The largest useful file that fits in memory at a good speed with a context of ${number(context)}.`,
      slow: (context: number) =>
        `It fits in memory with a context of ${number(context)}, but its replies are slow on this computer; a smaller model is faster.`,
      no: (context: number) =>
        `It is the smallest, but it does not fit in the memory that is free now with a context of ${number(context)}.`,
    },
    withProjector: (bytes: number) => `Includes ${byteSize(bytes)} for pictures or sound.`,
    download: (name: string, bytes: number) => `Download ${name} (${byteSize(bytes)})`,
  },
  download: 'Download',
  recommended: {
    search: 'Search',
    others: 'For code, stories, pictures and more',
    purposes: {
      chat: 'chat',
      code: 'code and agents',
      stories: 'stories',
      vision: 'pictures as input',
      embeddings: 'embeddings',
      pictures: 'making pictures',
      speech: 'speaking',
    } satisfies Record<Purpose, string>,
  },
  packs: {
    title: 'Pictures, voices and ears: packs',
    absent: (size: string) => `Install (${size})`,
    broken: (size: string) => `Repair (${size})`,
    outdated: (size: string) => `Update (${size})`,
    addLabel: (name: string, size: string) => `Install ${name} (${size})`,
    removeLabel: (name: string, size: string) => `Delete ${name} and free ${size}`,
    inUse: 'in use',
    installed: 'installed',
    nextStart: 'It is used once the model is loaded again, or from the next start on.',
    useNow: 'Use it now',
    applying: 'Loading …',
    waiting: 'Waits for another pack',
  },
  stop: 'Stop',
  stopLabel: (model: string) => `Stop the download of ${model}`,
  resume: 'Resume',
  resumeLabel: (model: string) => `Resume the download of ${model}`,
  discardLabel: (model: string) => `Discard the download of ${model}`,
  bar: (model: string) => `Download of ${model}`,
  states: { running: 'Connecting …', waiting: 'Waits for another download', stopped: 'Stopped', done: 'Done' },
  failed: (reason: string) => `Failed: ${reason}.`,
  progress: (done: number, total: number) => `${byteSize(done)} of ${byteSize(total)}`,
  speed: (bytes: number) => `${byteSize(bytes)}/s`,
  left: (duration: string) => `${duration} left`,
  seconds: (seconds: number) => `${seconds} s`,
  minutes: (minutes: number) => `${minutes} min`,
  hours: (hours: number, minutes: number) => `${hours} h ${minutes} min`,
  done: (model: string) => `Downloaded ${model}.`,
  gone: (name: string) => `${name} is not on this machine any more. Find it in the model panel.`,
});

/** `40 s`, `12 min`, `2 h 5 min` */
function durationText(seconds: number): string {
  if (seconds < 60) return texts.seconds(Math.max(1, Math.round(seconds)));
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? texts.minutes(minutes) : texts.hours(Math.floor(minutes / 60), minutes % 60);
}

const known = (facts: readonly (string | null | false)[]): string[] => facts.filter((fact) => typeof fact === 'string');

/** What the hub says about a model, and what speaks against it. */
export function hubFacts(model: HubModel): { facts: readonly string[]; warnings: readonly string[] } {
  const { parameters, architecture, context, projector, tools, thinking, licence, downloads, likes, changed } = model;
  return {
    warnings: known([model.supported === false && texts.unsupported, model.gated !== 'no' && texts.terms]),
    facts: known([
      parameters !== null && shared.facts.parameters(parametersText(parameters)),
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

/** How far a download is, how fast, and how long it takes. */
export function downloadLine(download: Download): string {
  const { state, done_bytes: done, total_bytes: total, bytes_per_second: speed, reason } = download;
  const isMoving = state === 'running' && speed > 0;
  const began = total !== null && (done > 0 || isMoving);
  return known([
    state === 'failed' && texts.failed(reason ?? ''),
    state !== 'failed' && (state !== 'running' || !began) && texts.states[state],
    began && texts.progress(done, total),
    isMoving && texts.speed(speed),
    isMoving && total !== null && texts.left(durationText((total - done) / speed)),
  ]).join(' · ');
}

/** Why a file is the one that is chosen, in the language of the page: the server says it in English. */
export function whyChosen({ fit, speed }: HubFile, context: number | null): string {
  const { why } = texts.files;
  if (fit === null || context === null) return why.unknown;
  if (fit === 'no' || fit === 'card') return why[fit](context);
  return speed === 'fast' || speed === 'good' ? why.memory(context) : why.slow(context);
}

/** Size, place and speed of a file. */
export function fileLine({ bytes, fit, card_layers, layers, memory_bytes, speed }: HubFile): string {
  const { files } = texts;
  const isPartly = fit === 'part' && card_layers !== null && layers !== null;
  return known([
    byteSize(bytes),
    isPartly ? files.layers(card_layers, layers) : fit && files.fits[fit],
    fit !== 'no' && speed && files.speeds[speed],
    memory_bytes !== null && files.memory(memory_bytes),
  ]).join(' · ');
}
