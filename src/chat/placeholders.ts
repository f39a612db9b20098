import type { ChatTags } from './adapters/adapter.ts';

/** The parts of a request that may speak of turns without knowing the model's tags. */
export interface InstructText {
  readonly prompt: string;
  readonly memory: string;
  readonly stop: readonly string[];
}

const input = '{{[INPUT]}}';
const output = '{{[OUTPUT]}}';
const system = '{{[SYSTEM]}}';
const inputEnd = '{{[INPUT_END]}}';
const outputEnd = '{{[OUTPUT_END]}}';
const systemEnd = '{{[SYSTEM_END]}}';

type Replacements = readonly (readonly [placeholder: string, tag: string])[];

/** Puts the model's tags where a client left placeholders. */
export function replacePlaceholders(text: InstructText, tags: ChatTags): InstructText {
  const opened = openReply(text, tags);
  const separateEnds = opened.prompt.includes(inputEnd) || opened.prompt.includes(outputEnd);
  const replaced = separateEnds ? replaceOneToOne(opened, tags) : replaceWithJoinedEnds(opened, tags);
  return { ...replaced, stop: replaceStops(text.stop, tags) };
}

/** Where the reply opens in a way of its own, that way belongs to the last open turn only. */
function openReply(text: InstructText, tags: ChatTags): InstructText {
  const { assistantGen, assistantStart } = tags;
  if (assistantGen === assistantStart) return text;
  if (text.prompt.includes(output)) return { ...text, prompt: replaceLast(text.prompt, output, assistantGen) };
  if (text.memory.includes(output)) return { ...text, memory: replaceLast(text.memory, output, assistantGen) };
  return { ...text, prompt: replaceAtEnd(text.prompt, assistantStart, assistantGen) };
}

function replaceOneToOne(text: InstructText, tags: ChatTags): InstructText {
  const replacements: Replacements = [
    [input, tags.userStart],
    [output, tags.assistantStart],
    [system, tags.systemStart],
    [inputEnd, tags.userEnd],
    [outputEnd, tags.assistantEnd],
    [systemEnd, tags.systemEnd],
  ];
  return { ...text, prompt: replaceAll(text.prompt, replacements), memory: replaceAll(text.memory, replacements) };
}

/** A client that knows no end tags: the start of a turn ends the one before it, and only the first has none before. */
function replaceWithJoinedEnds(text: InstructText, tags: ChatTags): InstructText {
  const firstInMemory = text.memory.includes(input);
  const memory = firstInMemory ? replaceFirst(text.memory, input, tags.userStart) : text.memory;
  const prompt = firstInMemory ? text.prompt : replaceFirst(text.prompt, input, tags.userStart);
  const replacements: Replacements = [
    [input, tags.assistantEnd + tags.userStart],
    [output, tags.userEnd + tags.assistantStart],
    [system, tags.systemStart],
    [inputEnd, ''],
    [outputEnd, ''],
    [systemEnd, ''],
  ];
  return { ...text, prompt: replaceAll(prompt, replacements), memory: replaceAll(memory, replacements) };
}

function replaceStops(stops: readonly string[], tags: ChatTags): readonly string[] {
  const tagOf = new Map<string, string>([
    [input, tags.userStart],
    [output, tags.assistantStart],
    [inputEnd, tags.userEnd],
    [outputEnd, tags.assistantEnd],
  ]);
  return stops.map((stop) => tagOf.get(stop)?.trim() ?? stop).filter((stop) => stop !== '');
}

function replaceAll(text: string, replacements: Replacements): string {
  return replacements.reduce((replaced, [placeholder, tag]) => replaced.split(placeholder).join(tag), text);
}

function replaceFirst(text: string, placeholder: string, tag: string): string {
  return replaceAt(text, text.indexOf(placeholder), placeholder.length, tag);
}

function replaceLast(text: string, placeholder: string, tag: string): string {
  return replaceAt(text, text.lastIndexOf(placeholder), placeholder.length, tag);
}

/** Only where the text ends with it; white space at the end of either does not count. */
function replaceAtEnd(text: string, start: string, replacement: string): string {
  const bare = start.trimEnd();
  const body = text.trimEnd();
  if (bare === '' || !body.endsWith(bare)) return text;
  const place = body.length - bare.length;
  const whole = text.startsWith(start, place) ? start.length : text.length - place;
  return replaceAt(text, place, whole, replacement);
}

function replaceAt(text: string, place: number, length: number, replacement: string): string {
  return place < 0 ? text : text.slice(0, place) + replacement + text.slice(place + length);
}
